#!/bin/sh
# Prints the parts of a program as CycloneDX JSON, from what the Go linker wrote into it.
#
#   scripts/sbom.sh FILE VERSION
set -eu
[ $# -eq 2 ] || { echo "usage: scripts/sbom.sh FILE VERSION" >&2; exit 2; }
go version -m "$1" | awk -v version="$2" '
NR == 1 { go = $NF }
$1 == "build" && $2 ~ /^GOOS=/ { os = substr($2, 6) }
$1 == "build" && $2 ~ /^GOARCH=/ { arch = substr($2, 8) }
$1 == "dep" { n++; path[n] = $2; ver[n] = $3; sum[n] = $4 }
END {
	printf "{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,\n"
	printf "  \"metadata\": {\n    \"component\": {\"type\": \"application\", \"name\": \"scv\", \"version\": \"%s\", \"bom-ref\": \"scv\",\n", version
	printf "      \"licenses\": [{\"license\": {\"id\": \"Apache-2.0\"}}],\n"
	printf "      \"properties\": [{\"name\": \"target\", \"value\": \"%s/%s\"}]}\n  },\n  \"components\": [\n", os, arch
	printf "    {\"type\": \"framework\", \"name\": \"go\", \"version\": \"%s\", \"bom-ref\": \"go\", \"purl\": \"pkg:golang/std@%s\"}", substr(go, 3), substr(go, 3)
	for (i = 1; i <= n; i++) {
		printf ",\n    {\"type\": \"library\", \"name\": \"%s\", \"version\": \"%s\", \"bom-ref\": \"%s@%s\", \"purl\": \"pkg:golang/%s@%s\",\n", path[i], ver[i], path[i], ver[i], path[i], ver[i]
		printf "      \"properties\": [{\"name\": \"go.sum\", \"value\": \"%s\"}]}", sum[i]
	}
	printf "\n  ]\n}\n"
}'
