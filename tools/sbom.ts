/**
 * Software bill of materials in CycloneDX format: all packages that the server uses at run time.
 *
 *   npx tsx tools/sbom.ts > latchkey.cdx.json
 *
 * `npm sbom --omit dev` would omit packages that a development tool also uses (pino, a dependency of fastify), so the complete list is
 * requested, and only what the server depends on is kept.
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
  const kept = reachableFrom(server['bom-ref'], whole)
  const components = whole.components.filter((component) => component !== server && kept.has(component['bom-ref']))
  return {
    ...whole,
    // npm uses the name of the folder.
    metadata: { ...whole.metadata, component: server },
    components,
    dependencies: whole.dependencies
      .filter(({ ref }) => kept.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => kept.has(each)) })),
  }
}

/** The reference itself, and those of all packages that it depends on, except packages for tools only. */
function reachableFrom(start: string, { dependencies, components }: BillOfMaterials): ReadonlySet<string> {
  const dependsOn = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
  const forTools = new Set(components.filter(isForTools).map((component) => component['bom-ref']))
  const found = new Set([start])
  for (const ref of found) {
    for (const next of dependsOn.get(ref) ?? []) if (!forTools.has(next)) found.add(next)
  }
  return found
}

function isForTools({ properties }: Component): boolean {
  return properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true')
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(makeBillOfMaterials(), null, 2)}\n`)
