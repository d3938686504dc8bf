{{- /* Written by `pnpm chart` from k8s/base and k8s/components. */}}
{{- define "flotilla.settings.usual" }}
BUS_URL: tls://flotilla-nats.{{ .Release.Namespace }}.svc:4222?certificates=/var/lib/flotilla/client
CA_ADDRESS: flotilla-ca.{{ .Release.Namespace }}.svc:15013
CA_ROOT_FILE: /var/run/secrets/istio/root-cert.pem
CLIENT_CERTIFICATE_DIR: /var/lib/flotilla/client
ROOT_CA_DIR: /etc/cacerts
ROOT_CA_NEXT_DIR: /etc/cacerts-next
SEAL_KEY_FILE: /var/run/secrets/flotilla/seal.key
SEAL_KEY_SECRET: flotilla-seal
STORE_PASSWORDS_SECRET: flotilla-redis
STORE_URL: rediss://xds-server@flotilla-redis.{{ .Release.Namespace }}.svc:6379?certificates=/var/lib/flotilla/client&passwordFile=/var/run/secrets/redis/xds-server
TOKEN_FILE: /var/run/secrets/tokens/istio-token
WORK_DIR: /var/lib/flotilla
{{- end }}
{{- define "flotilla.settings.ValueshighAvailability" }}
{{- if .Values.highAvailability }}
BUS_REPLICAS: "3"
BUS_URL: tls://flotilla-nats-0.flotilla-nats.{{ .Release.Namespace }}.svc:4222?certificates=/var/lib/flotilla/client,tls://flotilla-nats-1.flotilla-nats.{{ .Release.Namespace }}.svc:4222,tls://flotilla-nats-2.flotilla-nats.{{ .Release.Namespace }}.svc:4222
STORE_URL: rediss+sentinel://xds-server@flotilla-redis-0.flotilla-redis.{{ .Release.Namespace }}.svc:26379,flotilla-redis-1.flotilla-redis.{{ .Release.Namespace }}.svc:26379,flotilla-redis-2.flotilla-redis.{{ .Release.Namespace }}.svc:26379/flotilla?certificates=/var/lib/flotilla/client&passwordFile=/var/run/secrets/redis/xds-server&sentinelUser=xds-server&sentinelPasswordFile=/var/run/secrets/redis/xds-server
{{- end }}
{{- end }}
{{- define "flotilla.settings.ValuesinstallCrds" }}
{{- if .Values.installCrds }}
INSTALL_CRDS: "true"
{{- end }}
{{- end }}
{{- define "flotilla.settings.ValuesclusterTrustBundle" }}
{{- if .Values.clusterTrustBundle }}
ENABLE_CLUSTER_TRUST_BUNDLE_API: "true"
{{- end }}
{{- end }}
{{- define "flotilla.settings.Valuesambientenabled" }}
{{- if .Values.ambient.enabled }}
CA_TRUSTED_NODE_ACCOUNTS: {{ .Release.Namespace }}/ztunnel
PILOT_ENABLE_AMBIENT: "true"
{{- end }}
{{- end }}
{{- define "flotilla.settings" }}
{{- toYaml (mergeOverwrite (include "flotilla.settings.usual" . | fromYaml) (include "flotilla.settings.ValueshighAvailability" . | fromYaml) (include "flotilla.settings.ValuesinstallCrds" . | fromYaml) (include "flotilla.settings.ValuesclusterTrustBundle" . | fromYaml) (include "flotilla.settings.Valuesambientenabled" . | fromYaml)) }}
{{- end }}
