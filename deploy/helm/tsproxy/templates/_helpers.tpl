{{- define "tsproxy.name" -}}
{{- if contains "tsproxy" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-tsproxy" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tsproxy.selector" -}}
app.kubernetes.io/name: tsproxy
app.kubernetes.io/instance: {{ .Release.Name | quote }}
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

{{/* The name of a broker's port. Kubernetes allows 15 characters. */}}
{{- define "tsproxy.brokerPort" -}}
{{- printf (ternary "broker-%d" "b-%d" (lt . 100000000)) . }}
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

{{/* Fails if a key is given (the second argument, at a path) and also written by the chart (the third). */}}
{{- define "tsproxy.apart" -}}
{{- $path := index . 0 }}
{{- $given := index . 1 }}
{{- range $key, $own := index . 2 }}
{{- $at := printf "%s.%s" $path $key }}
{{- $value := index $given $key }}
{{- if and (kindIs "map" $value) (kindIs "map" $own) }}{{ include "tsproxy.apart" (list $at $value $own) }}
{{- else if not (kindIs "invalid" $value) }}{{ fail (printf "%s: another value sets this key, too. Keep one of them" $at) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The bytes of `10Gi` or `8GiB`. */}}
{{- define "tsproxy.bytes" -}}
{{- mulf (regexFind "^[0-9.]+" . | float64) (get (dict "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776) (regexFind "[KMGT]i" .) | default 1) }}
{{- end }}

{{/* Fails if values do not fit together: one would be ignored, or the proxy would not start. */}}
{{- define "tsproxy.fitting" -}}
{{- $listener := .Values.listener }}
{{- $brokers := $listener.brokers }}
{{- $upstream := .Values.upstream }}
{{- $decisions := .Values.decisions }}
{{- $reports := .Values.reports }}
{{- $peers := .Values.networkPolicy }}
{{- $isSni := eq $listener.mode "sni" }}
{{- $isShared := eq $decisions.volume "shared" }}
{{- $port := int64 $listener.port }}
{{- $admin := int64 .Values.admin.port }}
{{- $from := int64 $brokers.portsFrom }}
{{- $to := ternary 0 (add $from $brokers.count -1) $isSni }}
{{- $isUnlimited := eq $decisions.retentionSize "unlimited" }}
{{- $kept := include "tsproxy.bytes" $decisions.retentionSize | float64 }}
{{- range list
      (list "upstream.bootstrapServers: name at least one broker, as host:port" (not $upstream.bootstrapServers))
      (list "upstream.tls.caSecret needs upstream.tls.enabled" (and $upstream.tls.caSecret (not $upstream.tls.enabled)))
      (list "upstream.tls.certificateSecret needs upstream.tls.enabled" (and $upstream.tls.certificateSecret (not $upstream.tls.enabled)))
      (list "listener.tls.secret: mode sni needs TLS, because brokers are told apart by the host name in the TLS handshake" (and $isSni (not $listener.tls.secret)))
      (list "listener.brokers.host: mode sni needs a host name with {node_id}" (and $isSni (not $brokers.host)))
      (list "listener.brokers.host needs listener.mode: sni" (and $brokers.host (not $isSni)))
      (list "listener.tls.clientCaSecret needs listener.tls.secret" (and $listener.tls.clientCaSecret (not $listener.tls.secret)))
      (list "listener.settings.tls needs listener.tls.secret" (and $listener.settings.tls (not (or $listener.tls.secret (dig "tls" "certificate" "" $listener.settings)))))
      (list "listener.brokers.count: the brokers' ports go beyond 65535" (gt $to 65535))
      (list "listener.port is one of the brokers' ports (listener.brokers)" (and (ge $port $from) (le $port $to)))
      (list "admin.port is one of the brokers' ports (listener.brokers)" (and (ge $admin $from) (le $admin $to)))
      (list "admin.port is listener.port" (eq $admin $port))
      (list "decisions.volume: perPod needs workload: StatefulSet. A Deployment has shared or none" (and (eq $decisions.volume "perPod") (ne .Values.workload "StatefulSet")))
      (list "decisions.claim needs decisions.volume: shared" (and $decisions.claim (not $isShared)))
      (list "decisions.storageClass: the chart makes no volume" (and $decisions.storageClass (or $decisions.claim (eq $decisions.volume "none"))))
      (list "decisions.retentionSize: the proxy needs at least 1MiB" (and (not $isUnlimited) (lt $kept 1048576.0)))
      (list (printf "decisions.retentionSize: %s is not less than decisions.size (%s), so the disk would fill up, or with volume none the pod be evicted. Lower it, or raise decisions.size" $decisions.retentionSize $decisions.size) (and (not $decisions.claim) (or $isUnlimited (ge $kept (include "tsproxy.bytes" $decisions.size | float64)))))
      (list "reports.input: with decisions.volume perPod or none the job cannot read the proxies' volumes. Use shared, or ship the files and name their place here" (and $reports.enabled (not $isShared) (not $reports.input)))
      (list "reports.storage.claim: reports.storage.prefix is there instead of a volume" (and $reports.storage.claim $reports.storage.prefix))
      (list "reports.storage.storageClass: the chart makes no volume" (and $reports.storage.storageClass (or $reports.storage.claim $reports.storage.prefix)))
      (list "monitoring.serviceMonitor.tlsConfig needs admin.tlsSecret" (and .Values.monitoring.serviceMonitor.tlsConfig (not .Values.admin.tlsSecret)))
      (list "networkPolicy.clients, admin and egress need networkPolicy.enabled" (and (or $peers.clients $peers.admin $peers.egress) (not $peers.enabled)))
      (list "serviceAccount.annotations are for an account that the chart makes: annotate the one of serviceAccount.name yourself" (and .Values.serviceAccount.annotations .Values.serviceAccount.name))
}}
{{- if last . }}{{ fail (first .) }}{{ end }}
{{- end }}
{{- end }}

{{/* The sections that the chart writes, laid over `config`. */}}
{{- define "tsproxy.config" -}}
{{- include "tsproxy.withoutOwnKeys" . }}
{{- include "tsproxy.fitting" . }}
{{- $values := .Values }}
{{- $folder := "/etc/tsproxy/tls" }}
{{- $listener := dict "name" "public" "bind" (printf "%s:%v" $values.bindHost $values.listener.port) "advertised_host" (include "tsproxy.advertisedHost" .) }}
{{- if eq $values.listener.mode "sni" }}
{{- $_ := set $listener "brokers" (dict "host" $values.listener.brokers.host) }}
{{- else }}
{{- $_ := set $listener "brokers" (dict "ports_from" $values.listener.brokers.portsFrom "count" $values.listener.brokers.count "first_id" $values.listener.brokers.firstId) }}
{{- end }}
{{- if $values.listener.tls.secret }}
{{- $tls := dict "certificate" (printf "%s/listener/tls.crt" $folder) "key" (printf "%s/listener/tls.key" $folder) }}
{{- if $values.listener.tls.clientCaSecret }}{{ $_ := set $tls "client_ca" (printf "%s/clients/ca.crt" $folder) }}{{ end }}
{{- $_ := set $listener "tls" $tls }}
{{- end }}
{{- if $values.listener.proxyProtocolFrom }}{{ $_ := set $listener "proxy_protocol" (dict "from" $values.listener.proxyProtocolFrom) }}{{ end }}

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
{{- if $values.admin.tokenSecret.name }}{{ $_ := set $admin "token_file" (printf "%s/admin-token/%s" $folder $values.admin.tokenSecret.key) }}{{ end }}
{{- if $values.admin.tlsSecret }}{{ $_ := set $admin "tls" (dict "certificate" (printf "%s/admin/tls.crt" $folder) "key" (printf "%s/admin/tls.key" $folder)) }}{{ end }}

{{- include "tsproxy.apart" (list "listener.settings" $values.listener.settings $listener) }}
{{- $own := dict
      "upstream" $upstream
      "listeners" (list (mergeOverwrite (deepCopy $values.listener.settings) $listener))
      "admin" $admin
      "workers" $values.workers
      "decisions" (dict "directory" "/var/lib/tsproxy/decisions" "retention" (dict "size" $values.decisions.retentionSize))
      "limits" (dict "drain_delay" (printf "%ds" (int64 $values.drain.delaySeconds)) "drain_timeout" (printf "%ds" (int64 $values.drain.timeoutSeconds)))
}}
{{- include "tsproxy.apart" (list "config" $values.config $own) }}
{{- toYaml (mergeOverwrite (deepCopy $values.config) $own) }}
{{- end }}
