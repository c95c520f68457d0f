/** Preloaded into a server: prints the name of every imported or required package to standard output, once. */
import { writeSync } from 'node:fs'
import { registerHooks } from 'node:module'

const told = new Set<string>()

registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context)
    const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(resolved.url) ?? []
    if (name !== undefined && !told.has(name)) writeSync(1, `imported ${name}\n`)
    if (name !== undefined) told.add(name)
    return resolved
  },
})
