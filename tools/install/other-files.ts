/** Files that need no installation: alerts and metrics with promtool, the chart with its tests. */
import { join } from 'node:path'
import { check, count, time } from './report.ts'
import { createShell } from './shell.ts'

const ROOT = join(import.meta.dirname, '..', '..')

export async function checkPrometheus(metrics: string): Promise<void> {
  const shell = createShell(['bash', '-c'], { cwd: join(ROOT, 'deploy/prometheus') })
  await time('promtool', async () => {
    const rules = await shell('promtool check rules alerts.yaml')
    check(`promtool check rules: ${/(\d+) rules found/.exec(rules)?.[1]} rules`, /SUCCESS/.test(rules), rules)
    const config = await shell('promtool check config prometheus.yaml')
    check('promtool check config', /SUCCESS/.test(config), config)
    const said = await shell('promtool check metrics 2>&1', metrics)
    check(`promtool check metrics: ${metrics.split('\n').length} lines`, said === '', said)
  })
}

export async function checkChart(): Promise<void> {
  const shell = createShell(['bash', '-c'], { cwd: ROOT })
  await time('YAML, schema, metrics host and resources of the chart', async () => {
    const said = await shell('NO_COLOR=1 npx vitest run --project pure server/test/chart.test.ts')
    const passed = Number(/Tests +(\d+) passed/.exec(said)?.[1])
    check(`server/test/chart.test.ts: ${passed} tests`, passed > 0, said)
  })
  console.log(
    '  not run  helm lint, helm template and the schemas of Kubernetes: .github/workflows/install.yml runs them',
  )
  count('steps not run here', 3)
}
