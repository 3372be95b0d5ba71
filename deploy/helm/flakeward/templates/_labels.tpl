{{/* The labels of an object: root is the chart's, component may be empty. */}}
{{- define "flakeward.labels" -}}
{{- with .component -}}
app.kubernetes.io/name: flakeward
app.kubernetes.io/component: {{ . }}
{{ end -}}
app.kubernetes.io/part-of: flakeward
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{/* The labels of a component's pods: those of the values beside those that selectors want. */}}
{{- define "flakeward.podLabels" -}}
{{- with .of.podLabels }}{{ toYaml . }}
{{ end -}}
app.kubernetes.io/name: flakeward
app.kubernetes.io/component: {{ .component }}
{{- end -}}
