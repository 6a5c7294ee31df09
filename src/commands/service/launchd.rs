//! The property list of launchd, for macOS.

use super::{DIRECTORIES, ServiceDefinition};

/// The property list. The service is restarted after a failure.
pub(super) fn plist(wanted: &ServiceDefinition<'_>) -> String {
    let ServiceDefinition {
        room,
        program,
        environment,
        name,
        directories,
    } = wanted;
    let variables: String = environment
        .iter()
        .map(|(name, value)| {
            format!(
                "    <key>{name}</key>\n    <string>{}</string>\n",
                escaped(value)
            )
        })
        .collect();
    let [room, program, name] = [room, program, name].map(|text| escaped(text));
    format!(
        "\
<!-- Written by `mailbag service install`; `mailbag service uninstall` removes it. {DIRECTORIES}{directories} -->
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>Label</key>
  <string>{name}</string>
  <key>ProgramArguments</key>
  <array>
    <string>{program}</string>
    <string>--room</string>
    <string>{room}</string>
    <string>run</string>
  </array>
  <key>EnvironmentVariables</key>
  <dict>
{variables}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ProcessType</key>
  <string>Background</string>
</dict>
</plist>
"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
