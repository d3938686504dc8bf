#!/usr/bin/env bash
# Rewrites imports.go: every package of the pinned modules that holds current (v3, v1 …) messages.
set -euo pipefail
cd "$(dirname "$0")"
{
  printf '// Links every package whose messages travel between a control plane and its clients.\n'
  printf '// Written by imports.sh.\npackage main\n\nimport (\n'
  for module in github.com/cncf/xds/go github.com/envoyproxy/go-control-plane/{contrib,envoy} istio.io/api; do
    dir=$(go list -m -f '{{.Dir}}' "$module")
    (cd "$dir" && find . -name '*.pb.go' -printf '%h\n' | sort -u | sed "s|^\.|$module|")
  done | grep -vE '/v2($|/)|/v2alpha|/kubernetes|istio.io/api/envoy|go-control-plane/.*/v1alpha' | sort -u | sed 's|.*|\t_ "&"|'
  printf ')\n'
} > imports.go
gofmt -l . >&2
