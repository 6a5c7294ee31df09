# The formula for Homebrew. packaging/build fills in what stands between at signs when all archives of a release are there.
class Mailbag < Formula
  desc "Mail for AI agents on one machine, in plain files"
  homepage "@repository@"
  version "@version@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@repository@/releases/download/v@version@/mailbag-@version@-aarch64-apple-darwin.tar.gz"
      sha256 "@sha256:aarch64-apple-darwin@"
    end
    on_intel do
      url "@repository@/releases/download/v@version@/mailbag-@version@-x86_64-apple-darwin.tar.gz"
      sha256 "@sha256:x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@repository@/releases/download/v@version@/mailbag-@version@-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@sha256:aarch64-unknown-linux-gnu@"
    end
    on_intel do
      url "@repository@/releases/download/v@version@/mailbag-@version@-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@sha256:x86_64-unknown-linux-gnu@"
    end
  end

  def install
    bin.install "mailbag"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/mailbag.bash" => "mailbag"
    zsh_completion.install "completions/_mailbag"
    fish_completion.install "completions/mailbag.fish"
  end

  test do
    assert_match "mailbag", shell_output("#{bin}/mailbag demo")
  end
end
