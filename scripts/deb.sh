#!/bin/sh
# Makes a deb of a folder that release.sh filled: program, manual pages, completions, user unit.
#
#   scripts/deb.sh FOLDER VERSION ARCH DIR
set -eu
[ $# -eq 4 ] || { echo "usage: scripts/deb.sh FOLDER VERSION ARCH DIR" >&2; exit 2; }
from=$1 version=$2 arch=$3 out=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
put() { install -D -m "$3" "$1" "$root/$2"; }

put "$from/scv" usr/bin/scv 755
for page in "$from"/share/man/*.1; do
	install -d "$root/usr/share/man/man1"
	gzip -9nc "$page" >"$root/usr/share/man/man1/$(basename "$page").gz"
done
put "$from/share/completion/scv.bash" usr/share/bash-completion/completions/scv 644
put "$from/share/completion/scv.zsh" usr/share/zsh/vendor-completions/_scv 644
put "$from/share/completion/scv.fish" usr/share/fish/vendor_completions.d/scv.fish 644
sed 's,%h/go/bin/scv,/usr/bin/scv,' "$from/contrib/systemd/scv.service" >"$work/unit"
put "$work/unit" usr/lib/systemd/user/scv.service 644
put "$from/LICENSE" usr/share/doc/scv/copyright 644
put "$from/README.md" usr/share/doc/scv/README.md 644
install -d -m 755 "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<EOF
Package: scv
Version: $version
Architecture: $arch
Maintainer: SCV authors <scv@localhost>
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f1)
Section: devel
Priority: optional
Description: coding agents as durable background jobs
 A daemon that runs coding agents and keeps them going when the terminal is
 closed, with their log, state and result. No daemon is started by this package:
 the first command that needs it does.
EOF
find "$root" -type d -exec chmod 755 {} +
find "$root" -type f ! -path "$root/usr/bin/*" -exec chmod 644 {} +
# dpkg-deb takes the day of every file from SOURCE_DATE_EPOCH, but only later ones: none may be earlier.
find "$root" -exec touch -d "@${SOURCE_DATE_EPOCH:-1767225600}" {} +
dpkg-deb --root-owner-group -Zgzip --build "$root" "$out/scv_${version}_linux_${arch}.deb" >/dev/null
