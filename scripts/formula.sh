#!/bin/sh
# Prints a Homebrew formula for the tar files of a release.
#
#   scripts/formula.sh DIR VERSION BASE_URL
set -eu
[ $# -eq 3 ] || { echo "usage: scripts/formula.sh DIR VERSION BASE_URL" >&2; exit 2; }
dir=$1 version=$2 url=$3
part() { # GOOS GOARCH BLOCK
	file=scv_${version}_$1_$2.tar.gz
	sum=$(awk -v f="$file" '$2 == f { print $1 }' "$dir/SHA256SUMS")
	[ -n "$sum" ] || return 0
	printf '    %s do\n      url "%s/%s"\n      sha256 "%s"\n    end\n' "$3" "$url" "$file" "$sum"
}
cat <<EOF
class Scv < Formula
  desc "Run coding agents as durable background jobs"
  homepage "$url"
  version "$version"
  license "Apache-2.0"

  on_macos do
$(part darwin arm64 on_arm)
$(part darwin amd64 on_intel)
  end
  on_linux do
$(part linux arm64 on_arm)
$(part linux amd64 on_intel)
  end

  def install
    bin.install "scv"
    man1.install Dir["share/man/*.1"]
    bash_completion.install "share/completion/scv.bash" => "scv"
    zsh_completion.install "share/completion/scv.zsh" => "_scv"
    fish_completion.install "share/completion/scv.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/scv version")
  end
end
EOF
