/** A Dockerfile, read as far as ours goes: stages, instructions, what is copied where, and the commands in their exec form. */

export type Instruction = { readonly name: string; readonly rest: string }

export type Stage = {
  readonly base: string
  readonly name: string | null
  readonly instructions: readonly Instruction[]
}

/** `from`: the stage, or null for the build context. */
export type Copy = { readonly from: string | null; readonly sources: readonly string[]; readonly to: string }

export function readDockerfile(text: string): readonly Stage[] {
  const stages: { base: string; name: string | null; instructions: Instruction[] }[] = []
  const lines = text.replace(/^\s*#.*\n/gm, '').replace(/\\\n/g, ' ')
  for (const line of lines.split('\n').filter((each) => each.trim() !== '')) {
    const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    if (name === 'FROM') {
      const [, base = '', alias = null] = /^(\S+)(?:\s+AS\s+(\S+))?$/.exec(rest) ?? []
      stages.push({ base, name: alias, instructions: [] })
    } else {
      stages.at(-1)?.instructions.push({ name, rest })
    }
  }
  return stages
}

export function named(stage: Stage, ...names: readonly string[]): readonly Instruction[] {
  return stage.instructions.filter(({ name }) => names.includes(name))
}

export function copiesOf(stage: Stage): readonly Copy[] {
  return named(stage, 'COPY').map(({ rest }) => {
    const words = rest.split(/\s+/)
    const from = words[0]?.startsWith('--from=') ? (words.shift()?.slice('--from='.length) ?? null) : null
    return { from, sources: words.slice(0, -1), to: words.at(-1) ?? '' }
  })
}

/** ENTRYPOINT, CMD or HEALTHCHECK as a list of words. Throws if a shell would read it. */
export function commandOf(stage: Stage, name: 'ENTRYPOINT' | 'CMD' | 'HEALTHCHECK'): readonly string[] {
  const rest = named(stage, name).at(-1)?.rest ?? ''
  return JSON.parse(name === 'HEALTHCHECK' ? rest.replace(/^.*?\bCMD\s+/, '') : rest)
}

export function environmentOf(stage: Stage): Readonly<Record<string, string>> {
  const pairs = named(stage, 'ENV').flatMap(({ rest }) => rest.split(/\s+/))
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
}

/** Whether the build context has a path: the last line of .dockerignore that knows it, or a folder above it, decides. */
export function isInContext(dockerignore: string, path: string): boolean {
  const parts = path.split('/')
  const above = parts.map((_part, index) => parts.slice(0, index + 1).join('/'))
  const lines = dockerignore.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const known = lines.filter((line) => line === '*' || above.includes(line.replace(/^!/, '')))
  return known.at(-1)?.startsWith('!') ?? true
}
