/** The Helm chart fits the service and follows the usual rules. The workflow .github/workflows/install.yml renders it with helm. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Compile } from 'typebox/schema'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { options } from '../src/config.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const variables: readonly string[] = Object.values(options).map(({ env }) => env)
const secretVariables = Object.values(options).flatMap(({ env, secret }) => (secret ? [env] : []))

/** docs/operations/upgrade.md, "Drain and rolling restart". */
const AFTER_DRAIN_SECONDS = 40

describe('the chart', () => {
  const folder = 'deploy/helm/latchkey'
  const chart = parse(read(`${folder}/Chart.yaml`))
  const values = parse(read(`${folder}/values.yaml`))
  const templates = readdirSync(join(ROOT, folder, 'templates')).map((name) => read(`${folder}/templates/${name}`))
  const all = templates.join('\n')
  const template = (kind: string) => templates.find((each) => new RegExp(`^kind: ${kind}$`, 'm').test(each)) ?? ''

  test('is of the server’s version', () => {
    const { version } = JSON.parse(read('server/package.json'))
    expect([chart.version, chart.appVersion]).toEqual([version, version])
  })

  test('uses existing values, and every value is used', () => {
    const asked = new Set(Array.from(all.matchAll(/\.Values\.([\w.]+)/g), ([, path = '']) => path))
    const found = (path: string) =>
      path.split('.').reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], values)
    expect([...asked].filter((path) => found(path) === undefined)).toEqual([])
    expect(leaves(values).filter((leaf) => ![...asked].some((path) => `${leaf}.`.startsWith(`${path}.`)))).toEqual([])
  })

  test('includes defined templates, and has balanced blocks', () => {
    const defined = Array.from(all.matchAll(/define "([^"]+)"/g), ([, name]) => name)
    const included = Array.from(all.matchAll(/include "([^"]+)"/g), ([, name]) => name)
    expect(new Set(included)).toEqual(new Set(defined))
    for (const each of templates) {
      const opened = each.match(/\{\{-? (if|with|range|define) /g) ?? []
      expect(each.match(/\{\{-? end /g) ?? []).toHaveLength(opened.length)
    }
  })

  test('sets only variables that the service knows, and no secret ones', () => {
    const set = Array.from(all.matchAll(/- name: ([A-Z_]+)\n/g), ([, name = '']) => name)
    expect(set).toContain('PUBLIC_URL')
    const names = [...set, ...Object.keys(values.environment)]
    expect(names.filter((name) => !variables.includes(name) || secretVariables.includes(name))).toEqual([])
  })

  test('has no default for the networks that may name a client’s address, and fails without them', () => {
    expect(values.trustProxy).toBe('')
    expect(values.environment).not.toHaveProperty('TRUST_PROXY')
    expect(all).toMatch(/- name: TRUST_PROXY\n\s+value: \{\{ required "[^"]+" \.Values\.trustProxy \| quote \}\}/)
  })

  test('lets only the ingress controller reach the service, and only Prometheus the metrics', () => {
    expect(values.networkPolicy.enabled).toBe(true)
    const policy = template('NetworkPolicy')
    expect(policy.startsWith('{{- if .Values.networkPolicy.enabled }}\n')).toBe(true)
    const plain = policy.replace(/^\s*\{\{-? (if|end) .*$/gm, '')
    const rendered = parse(
      plain
        .replace(/\{\{- toYaml \.Values\.networkPolicy\.(\w+) \| nindent 14 \}\}/g, (_, name) =>
          JSON.stringify(values.networkPolicy[name]).slice(1, -1).replace(':', ': '),
        )
        .replace(/\{\{- include "latchkey\.(\w+)" .*\}\}/g, '$1: latchkey')
        .replace(/\{\{ include .*\}\}/g, 'latchkey'),
    )
    const from = (name: string) => [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } }]
    expect(rendered.spec).toEqual({
      podSelector: { matchLabels: { selector: 'latchkey' } },
      policyTypes: ['Ingress'],
      ingress: [
        { from: from('ingress-nginx'), ports: [{ port: 'http' }] },
        { from: from('monitoring'), ports: [{ port: 'metrics' }] },
      ],
    })
  })

  test('serves metrics on the address of the pod, where Prometheus reaches them', () => {
    expect(all).toMatch(/- name: METRICS_HOST\n\s+valueFrom:\n\s+fieldRef:\n\s+fieldPath: status\.podIP\n/)
    expect(options.metricsHost.fallback, 'which it would not at the default').toBe('127.0.0.1')
  })

  test('lets the Prometheus operator find the pods, also those that are not ready, under the job of the alerts', () => {
    const monitor = template('ServiceMonitor')
    expect(monitor).toMatch(/^\{\{- if and \.Values\.metrics\.port \.Values\.metrics\.serviceMonitor\.enabled \}\}/)
    expect(monitor).toMatch(/clusterIP: None\n +publishNotReadyAddresses: true\n/)
    expect(monitor).toContain('jobLabel: app.kubernetes.io/name')
    expect(read('deploy/prometheus/alerts.yaml')).toContain('up{job="latchkey"}')
    expect(values.metrics.serviceMonitor.enabled, 'without the operator, its kind does not exist').toBe(false)
  })

  test('gives every container requests and limits: quotas refuse others', () => {
    expect(template('Deployment')).toContain('toYaml .Values.resources | nindent 12')
    expect(template('Job')).toContain('toYaml .Values.migrate.resources | nindent 12')
    for (const { requests, limits } of [values.resources, values.migrate.resources]) {
      expect([requests.cpu, requests.memory, limits.memory]).toEqual([
        expect.stringMatching(/^\d+m$/),
        expect.stringMatching(/^\d+Mi$/),
        expect.stringMatching(/^\d+Mi$/),
      ])
    }
  })

  test('replaces the pods when the secret was changed', () => {
    expect(template('Deployment')).toMatch(/lookup "v1" "Secret" \.Release\.Namespace \.Values\.existingSecret/)
    expect(template('Deployment')).toContain('checksum/secret: {{ $secret.data | toJson | sha256sum }}')
  })

  test('places files, variables, nodes and the service account in the pods and in the job', () => {
    const shared = templates.find((each) => each.includes('define "latchkey.pod"')) ?? ''
    for (const name of ['volumes', 'volumeMounts', 'nodeSelector', 'tolerations', 'affinity', 'serviceAccount.name']) {
      expect(shared).toContain(`{{- with .Values.${name} }}`)
    }
    for (const kind of ['Deployment', 'Job']) expect(template(kind)).toContain('{{- with .Values.extraEnv }}')
  })

  describe('its schema', () => {
    const schema = JSON.parse(read(`${folder}/values.schema.json`))
    const validator = Compile(schema)

    test('accepts the default values, and a use of every list and map', () => {
      expect(validator.Errors(values)[1]).toEqual([])
      const used = {
        ...values,
        trustProxy: '10.4.0.0/24',
        extraEnv: [{ name: 'DNS_SERVERS', value: '10.0.0.2' }],
        volumes: [{ name: 'geoip', persistentVolumeClaim: { claimName: 'geoip' } }],
        volumeMounts: [{ name: 'geoip', mountPath: '/geoip', readOnly: true }],
        tolerations: [{ key: 'dedicated', operator: 'Exists' }],
        nodeSelector: { 'kubernetes.io/arch': 'amd64' },
        environment: { PORT: 8080, OUTBOUND_PRIVATE: false },
      }
      expect(validator.Errors(used)[1]).toEqual([])
    })

    test.each([
      ['a misspelled value', { replica: 3 }],
      ['a misspelled value within another', { metrics: { ports: 9464 } }],
      ['a text as a number', { replicas: '3' }],
      ['a base URL with a path', { publicUrl: 'https://service.example/auth' }],
      ['a list of variables as a map', { extraEnv: { NAME: 'value' } }],
      ['a setting in lower case', { environment: { mailFrom: 'x' } }],
    ])('rejects %s', (_, wrong) => {
      expect(validator.Check({ ...values, ...wrong })).toBe(false)
    })
  })

  test('has a page that names every value', () => {
    const page = read(`${folder}/README.md`)
    const named = Array.from(page.matchAll(/`([\w.]+)`/g), ([, name = '']) => name)
    expect(leaves(values).filter((leaf) => !named.some((name) => `${leaf}.`.startsWith(`${name}.`)))).toEqual([])
  })

  test('lets a pod drain before it is killed', () => {
    expect(all).toContain(`terminationGracePeriodSeconds: {{ add .Values.drainSeconds ${AFTER_DRAIN_SECONDS} }}`)
    expect(all).toMatch(/- name: DRAIN_SECONDS\n\s+value: \{\{ \.Values\.drainSeconds \| quote \}\}/)
  })

  test('has a read-only pod without privilege escalation and service account token', () => {
    for (const rule of [
      'runAsNonRoot: true',
      'readOnlyRootFilesystem: true',
      'allowPrivilegeEscalation: false',
      'drop: [ALL]',
      'automountServiceAccountToken: false',
      'type: RuntimeDefault',
    ]) {
      expect(all).toContain(rule)
    }
    const containers = all.match(/^ +containers:\n/gm) ?? []
    expect(all.match(/include "latchkey\.image"/g)).toHaveLength(containers.length)
    expect(all.match(/include "latchkey\.pod"/g)).toHaveLength(containers.length)
  })
})

/** Paths of all leaves and empty nodes of a tree. */
function leaves(tree: unknown, above: readonly string[] = []): string[] {
  const entries = typeof tree === 'object' && tree !== null && !Array.isArray(tree) ? Object.entries(tree) : []
  return entries.length === 0 ? [above.join('.')] : entries.flatMap(([name, each]) => leaves(each, [...above, name]))
}
