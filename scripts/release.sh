#!/bin/sh
# Builds a release: for each target a tar file with the program, manual pages and completions, and its parts list
# (CycloneDX); then a deb for each Linux, a Homebrew formula and SHA256SUMS. The same tree gives the same bytes, wherever
# and whenever it is built.
#
#   scripts/release.sh DIR                              all targets
#   TARGETS="linux/amd64" scripts/release.sh DIR        some
#   BASE_URL=https://example.org/v1 scripts/release.sh DIR     where the formula finds the tar files
#
# It needs Go and GNU tar, and dpkg-deb for the debs, which are left out without it.
set -eu
export LC_ALL=C TZ=UTC
[ $# -eq 1 ] || { echo "usage: scripts/release.sh DIR" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
targets=${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' internal/quick/quick.go)
[ -n "$version" ] || { echo "release.sh: cmd/scv/main.go has no version" >&2; exit 1; }
tar=tar
if command -v gtar >/dev/null 2>&1; then tar=gtar; fi
"$tar" --version 2>/dev/null | grep -q 'GNU tar' || { echo "release.sh: GNU tar is needed; on macOS: brew install gnu-tar" >&2; exit 1; }
# The day of every file: that of the last commit, else a fixed one.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build() { # GOOS GOARCH FILE
	CGO_ENABLED=0 GOFLAGS= GOOS=$1 GOARCH=$2 GOAMD64=v1 go build -trimpath -buildvcs=false -ldflags "-s -w -buildid=" -o "$3" ./cmd/scv
}

build "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$work/scv"
mkdir -p "$work/share/man" "$work/share/completion"
"$work/scv" man "$work/share/man/" 2>/dev/null
for shell in bash zsh fish; do "$work/scv" completion $shell >"$work/share/completion/scv.$shell"; done

for target in $targets; do
	os=${target%/*} arch=${target#*/}
	name=scv_${version}_${os}_${arch}
	mkdir -p "$work/$name"
	build "$os" "$arch" "$work/$name/scv"
	cp -r "$work/share" README.md LICENSE contrib "$work/$name/"
	sh scripts/sbom.sh "$work/$name/scv" "$version" >"$out/$name.cdx.json"
	find "$work/$name" -type d -exec chmod 755 {} +
	find "$work/$name" -type f -exec chmod 644 {} +
	chmod 755 "$work/$name/scv"
	"$tar" -C "$work" --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$name" |
		gzip -9n >"$out/$name.tar.gz"
	if [ "$os" = linux ] && command -v dpkg-deb >/dev/null 2>&1; then
		sh scripts/deb.sh "$work/$name" "$version" "$arch" "$out"
	fi
done

(cd "$out" && sha256sum scv_* >SHA256SUMS)
sh scripts/formula.sh "$out" "$version" "${BASE_URL:-https://example.org/scv/$version}" >"$out/scv.rb"
echo "release.sh: scv $version for $targets is in $out" >&2
