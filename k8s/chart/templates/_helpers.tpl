{{- define "flotilla.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* Of names without a namespace. */}}
{{- define "flotilla.suffix" -}}
{{ if ne .Values.revision "default" }}-{{ .Values.revision }}{{ end }}
{{- end }}

{{- define "flotilla.annotations" -}}
{{- with .podAnnotations }}{{ toYaml . }}{{ end }}
{{- end }}

{{- define "flotilla.labels" -}}
{{- with .podLabels }}{{ toYaml . }}{{ end }}
{{- end }}

{{- /* Where the pods of a workload run. */}}
{{- define "flotilla.pod" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with index $.values $key }}
{{ $key }}: {{- if kindIs "string" . }} {{ . }}{{ else }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Settings of one service, and the addresses of NATS and Redis of one's own. */}}
{{- define "flotilla.env" -}}
{{- $secret := .root.Values.servers.secret }}
{{- if $secret }}
- {name: BUS_URL, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: BUS_URL{{ if .root.Values.nats.enabled }}, optional: true{{ end }}}}}
- {name: STORE_URL, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: STORE_URL{{ if .root.Values.redis.enabled }}, optional: true{{ end }}}}}
- {name: BUS_REPLICAS, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: BUS_REPLICAS, optional: true}}}
{{- end }}
{{- range $name, $value := .values.env }}
- {name: {{ $name }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- end }}
