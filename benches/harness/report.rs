//! The report: rows of a table, each with its target and result, and the same as JSON lines.

use super::cases::Case;
use serde_json::json;

/// The samples of one run of one side: metric with unit, and value.
pub(crate) type Samples = Vec<(&'static str, f64)>;

/// The target of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// mailbag's value over the floor's, at least.
    RatioAtLeast(f64),
    /// mailbag's value over the floor's, at most.
    RatioAtMost(f64),
    /// mailbag's value itself, at most.
    AtMost(f64),
}

/// One metric of one case: the medians of each side, and the median of the pairs' ratios.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) case: String,
    pub(crate) metric: &'static str,
    pub(crate) floor: Option<f64>,
    pub(crate) mailbag: Option<f64>,
    pub(crate) ratio: Option<f64>,
    /// The lowest and the highest ratio of the pairs, to show their spread.
    pub(crate) between: Option<(f64, f64)>,
    pub(crate) target: Option<Target>,
}

impl Row {
    /// The row of one metric, from the runs of each side, which stand pair by pair.
    pub(crate) fn new(
        case: &Case,
        metric: &'static str,
        floor: &[Samples],
        mailbag: &[Samples],
    ) -> Row {
        let of = |runs: &[Samples]| -> Vec<f64> {
            runs.iter().filter_map(|run| value(run, metric)).collect()
        };
        let (floor, mailbag) = (of(floor), of(mailbag));
        let mut ratios: Vec<f64> = floor
            .iter()
            .zip(&mailbag)
            .map(|(floor, mailbag)| mailbag / floor)
            .collect();
        ratios.sort_by(f64::total_cmp);
        Row {
            case: case.label(),
            metric,
            floor: median(floor),
            mailbag: median(mailbag),
            between: ratios.first().copied().zip(ratios.last().copied()),
            ratio: median(ratios),
            target: case.target(metric),
        }
    }

    /// Whether the target is met; `None` without a target or a measurement.
    fn is_met(&self) -> Option<bool> {
        match self.target? {
            Target::RatioAtLeast(least) => self.ratio.map(|ratio| ratio >= least),
            Target::RatioAtMost(most) => self.ratio.map(|ratio| ratio <= most),
            Target::AtMost(most) => self.mailbag.map(|value| value <= most),
        }
    }

    /// The row as a line of the table.
    pub(crate) fn line(&self) -> String {
        let target = match self.target {
            Some(Target::RatioAtLeast(least)) => format!("ratio >= {least}"),
            Some(Target::RatioAtMost(most)) => format!("ratio <= {most}"),
            Some(Target::AtMost(most)) => format!("mailbag <= {most}"),
            None => String::new(),
        };
        let verdict = match self.is_met() {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "",
        };
        let between = self
            .between
            .map(|(low, high)| format!("{low:.2}-{high:.2}"))
            .unwrap_or_default();
        format!(
            "{:<48} {:<24} {:>10} {:>10} {:>6} {:<11} {:<15} {verdict}",
            self.case,
            self.metric,
            number(self.floor),
            number(self.mailbag),
            self.ratio
                .map(|ratio| format!("{ratio:.2}"))
                .unwrap_or_default(),
            between,
            target
        )
        .trim_end()
        .to_owned()
    }

    /// The row as a line of JSON.
    pub(crate) fn json(&self) -> String {
        let target = self.target.map(|target| match target {
            Target::RatioAtLeast(least) => json!({"ratio_at_least": least}),
            Target::RatioAtMost(most) => json!({"ratio_at_most": most}),
            Target::AtMost(most) => json!({"at_most": most}),
        });
        json!({
            "case": self.case, "metric": self.metric, "floor": self.floor, "mailbag": self.mailbag,
            "ratio": self.ratio, "between": self.between, "target": target, "met": self.is_met(),
        })
        .to_string()
    }
}

/// The head of the table.
pub(crate) fn head() -> String {
    format!(
        "{:<48} {:<24} {:>10} {:>10} {:>6} {:<11} {:<15} {}",
        "case", "metric", "floor", "mailbag", "ratio", "lowest-high", "target", "verdict"
    )
}

/// The value of one metric in one run.
pub(crate) fn value(run: &Samples, metric: &str) -> Option<f64> {
    run.iter()
        .find(|(name, _)| *name == metric)
        .map(|(_, value)| *value)
}

/// The median; for an even number of values, the mean of the middle two.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// The value that this share of the sorted values does not exceed.
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value >= 1000.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    }
}

/// The growth of each side's cost per message with the number of agents, from the growth cases: a
/// row for each number of agents but the first.
pub(crate) fn growth(rows: &[Row]) -> Vec<Row> {
    const METRICS: [(&str, &str); 2] = [
        ("us/message", "us/message vs agents=1"),
        ("cpu us/message", "cpu us/message vs 1"),
    ];
    let mut grown = Vec::new();
    for row in rows
        .iter()
        .filter(|row| row.case.starts_with("growth") && !row.case.contains("agents=1 "))
    {
        let Some((_, metric)) = METRICS.iter().find(|(metric, _)| *metric == row.metric) else {
            continue;
        };
        let first = rows
            .iter()
            .find(|first| first.metric == row.metric && first.case == with_one_agent(&row.case));
        let Some(first) = first else { continue };
        let factor =
            |now: Option<f64>, first: Option<f64>| now.zip(first).map(|(now, first)| now / first);
        let (floor, mailbag) = (
            factor(row.floor, first.floor),
            factor(row.mailbag, first.mailbag),
        );
        // If the same few agents write, the cost must not grow. If all write, more directories are
        // touched, and the file system's own cost grows: there the floor shows the router's share.
        let alone = row.case.starts_with("growth-registered");
        let target = if alone {
            Target::AtMost(1.3)
        } else {
            Target::RatioAtMost(1.3)
        };
        let ratio = factor(mailbag, floor);
        let case = row.case.clone();
        grown.push(Row {
            case,
            metric,
            floor,
            mailbag,
            ratio,
            between: None,
            target: Some(target),
        });
    }
    grown
}

fn with_one_agent(case: &str) -> String {
    let one = |word: &str| {
        if word.starts_with("agents=") {
            "agents=1".to_owned()
        } else {
            word.to_owned()
        }
    };
    case.split(' ').map(one).collect::<Vec<_>>().join(" ")
}
