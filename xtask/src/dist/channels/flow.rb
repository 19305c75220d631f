class Flow < Formula
  desc "Records every method call of a JVM program, and answers questions about it"
  homepage "{homepage}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux
{downloads}
  def install
    bin.install "bin/flow"
    (lib/"flow").install Dir["lib/flow/*"]
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/flow"
    zsh_completion.install "share/zsh/site-functions/_flow"
    fish_completion.install "share/fish/vendor_completions.d/flow.fish"
    doc.install "README.md", "docs", "examples"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/flow --version")
  end
end
