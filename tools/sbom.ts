/**
 * What the service is made of, as CycloneDX: every package that it runs with, and no other.
 *
 *   npm run -s sbom > latchkey.cdx.json
 *
 * `npm sbom --omit dev` would leave out what a tool needs as well (pino, because fastify has it, too), so the whole list is asked for and
 * the packages that only tools need are taken off here.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const SERVER = '@latchkey/server'

type Component = {
  readonly 'bom-ref': string
  readonly name: string
  readonly purl: string
  readonly properties: readonly { readonly name: string; readonly value: string }[]
}

export type BillOfMaterials = {
  readonly bomFormat: string
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

export function makeBillOfMaterials(): BillOfMaterials {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--loglevel=error']
  const whole: BillOfMaterials = JSON.parse(
    execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 << 20 }),
  )
  const server = whole.components.find((component) => component['bom-ref'].startsWith(`${SERVER}@`))
  if (!server) throw new Error(`npm does not list ${SERVER}`)
  const components = whole.components.filter((component) => component !== server && !isForTools(component))
  const kept = new Set([server, ...components].map((component) => component['bom-ref']))
  return {
    ...whole,
    // npm names the folder that it was run in.
    metadata: { ...whole.metadata, component: server },
    components,
    dependencies: whole.dependencies
      .filter(({ ref }) => kept.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => kept.has(each)) })),
  }
}

function isForTools({ properties }: Component): boolean {
  return properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true')
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(makeBillOfMaterials(), null, 2)}\n`)
