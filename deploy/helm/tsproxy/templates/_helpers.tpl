{{- define "tsproxy.name" -}}
{{- if contains "tsproxy" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-tsproxy" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tsproxy.selector" -}}
app.kubernetes.io/name: tsproxy
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tsproxy.labels" -}}
{{ include "tsproxy.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "tsproxy.image" -}}
{{ required "image.repository: the project publishes no image. Build one with deploy/Containerfile, and name it here" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "tsproxy.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "tsproxy.name" .) }}
{{- end }}

{{- define "tsproxy.advertisedHost" -}}
{{- if .Values.listener.advertisedHost }}{{ .Values.listener.advertisedHost }}
{{- else if eq .Values.listener.mode "sni" }}{{ fail "listener.advertisedHost: mode sni needs the name at which clients bootstrap" }}
{{- else }}{{ include "tsproxy.name" . }}.{{ .Release.Namespace }}.svc.cluster.local
{{- end }}
{{- end }}

{{- define "tsproxy.sharedClaim" -}}
{{ .Values.decisions.claim | default (printf "%s-decisions" (include "tsproxy.name" .)) }}
{{- end }}

{{- define "tsproxy.reportsClaim" -}}
{{ .Values.reports.storage.claim | default (printf "%s-reports" (include "tsproxy.name" .)) }}
{{- end }}

{{/* Keys of tsproxy that the chart writes, and the values that set them. */}}
{{- define "tsproxy.ownKeys" -}}
config:
  listeners: listener
  workers: workers
  upstream.bootstrap_servers: upstream.bootstrapServers
  upstream.admin: upstream.admin
  admin.bind: admin.port
  admin.token: admin.tokenSecret
  admin.tls: admin.tlsSecret
  decisions.directory: decisions.volume
  decisions.retention.size: decisions.retentionSize
  limits.drain_delay: drain.delaySeconds
  limits.drain_timeout: drain.timeoutSeconds
listener.settings:
  name: nothing, it is `public`
  bind: bindHost and listener.port
  advertised_host: listener.advertisedHost
  brokers: listener.brokers
{{- end }}

{{- define "tsproxy.withoutOwnKeys" -}}
{{- range $place, $keys := include "tsproxy.ownKeys" . | fromYaml }}
{{- range $path, $instead := $keys }}
{{- $at := $.Values }}
{{- range splitList "." (printf "%s.%s" $place $path) }}
{{- if kindIs "map" $at }}{{ $at = index $at . }}{{ end }}
{{- end }}
{{- if not (kindIs "invalid" $at) }}{{ fail (printf "%s.%s: the chart writes this key. Set %s" $place $path $instead) }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The sections that the chart writes, laid over `config`. */}}
{{- define "tsproxy.config" -}}
{{- include "tsproxy.withoutOwnKeys" . }}
{{- $values := .Values }}
{{- $folder := "/etc/tsproxy/tls" }}
{{- $listener := dict "name" "public" "bind" (printf "%s:%v" $values.bindHost $values.listener.port) "advertised_host" (include "tsproxy.advertisedHost" .) }}
{{- if eq $values.listener.mode "sni" }}
{{- if not $values.listener.tls.secret }}{{ fail "listener.tls.secret: mode sni needs TLS, because brokers are told apart by the host name in the TLS handshake" }}{{ end }}
{{- $_ := set $listener "brokers" (dict "host" (required "listener.brokers.host: mode sni needs a host name with {node_id}" $values.listener.brokers.host)) }}
{{- else }}
{{- $_ := set $listener "brokers" (dict "ports_from" $values.listener.brokers.portsFrom "count" $values.listener.brokers.count "first_id" $values.listener.brokers.firstId) }}
{{- end }}
{{- if $values.listener.tls.secret }}
{{- $tls := dict "certificate" (printf "%s/listener/tls.crt" $folder) "key" (printf "%s/listener/tls.key" $folder) }}
{{- if $values.listener.tls.clientCaSecret }}{{ $_ := set $tls "client_ca" (printf "%s/clients/ca.crt" $folder) }}{{ end }}
{{- $_ := set $listener "tls" $tls }}
{{- else if $values.listener.tls.clientCaSecret }}{{ fail "listener.tls.clientCaSecret needs listener.tls.secret" }}
{{- end }}
{{- if $values.listener.proxyProtocolFrom }}{{ $_ := set $listener "proxy_protocol" (dict "from" $values.listener.proxyProtocolFrom) }}{{ end }}

{{- if not $values.upstream.bootstrapServers }}{{ fail "upstream.bootstrapServers: name at least one broker, as host:port" }}{{ end }}
{{- $upstream := dict "bootstrap_servers" $values.upstream.bootstrapServers }}
{{- if $values.upstream.admin }}{{ $_ := set $upstream "admin" $values.upstream.admin }}{{ end }}
{{- if $values.upstream.tls.enabled }}
{{- $tls := dict }}
{{- if $values.upstream.tls.caSecret }}{{ $_ := set $tls "ca" (printf "%s/upstream-ca/ca.crt" $folder) }}{{ end }}
{{- if $values.upstream.tls.certificateSecret }}
{{- $_ := set $tls "certificate" (printf "%s/upstream/tls.crt" $folder) }}
{{- $_ := set $tls "key" (printf "%s/upstream/tls.key" $folder) }}
{{- end }}
{{- $_ := set $upstream "tls" $tls }}
{{- end }}

{{- $admin := dict "bind" (printf "%s:%v" $values.bindHost $values.admin.port) }}
{{- if $values.admin.tokenSecret.name }}{{ $_ := set $admin "token" "${TSPROXY_ADMIN_TOKEN}" }}{{ end }}
{{- if $values.admin.tlsSecret }}{{ $_ := set $admin "tls" (dict "certificate" (printf "%s/admin/tls.crt" $folder) "key" (printf "%s/admin/tls.key" $folder)) }}{{ end }}

{{- $own := dict
      "upstream" $upstream
      "listeners" (list (mergeOverwrite (deepCopy $values.listener.settings) $listener))
      "admin" $admin
      "workers" $values.workers
      "decisions" (dict "directory" "/var/lib/tsproxy/decisions" "retention" (dict "size" $values.decisions.retentionSize))
      "limits" (dict "drain_delay" (printf "%vs" $values.drain.delaySeconds) "drain_timeout" (printf "%vs" $values.drain.timeoutSeconds))
}}
{{- toYaml (mergeOverwrite (deepCopy $values.config) $own) }}
{{- end }}
