/**
 * Profiles: named logins of this machine, each with a folder of its own. `latchkey login` makes its profile the current
 * one, and `latchkey switch` another.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLoginFolder, readProfileSetting } from './client-settings.ts'
import { CommandRefused } from './output.ts'

const DEFAULT = 'default'

/** Lower case only: some file systems do not distinguish the case. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

export const folderOfProfile = (profile: string) => join(readLoginFolder(), 'profiles', profile)

/** The profile of --profile, LATCHKEY_PROFILE or the last login or switch; otherwise the only one, or `default`. */
export async function chooseProfile({ profile }: { readonly profile?: string }): Promise<string> {
  const given = profile ?? readProfileSetting()
  if (given) return checkName(given)
  const known = await listProfiles()
  const current = await readFile(fileOfCurrent(), 'utf8').then(
    (text) => text.trim(),
    () => '',
  )
  if (known.includes(current)) return current
  return known.length === 1 && known[0] ? known[0] : DEFAULT
}

export async function listProfiles(): Promise<readonly string[]> {
  const names = await readdir(join(readLoginFolder(), 'profiles')).catch(() => [])
  return names.filter((name) => NAME.test(name)).sort()
}

/** Atomic: a command that runs at the same time reads the old name or the new one. */
export async function makeCurrent(profile: string): Promise<void> {
  await mkdir(readLoginFolder(), { recursive: true, mode: 0o700 })
  const draft = `${fileOfCurrent()}.${process.pid}`
  await writeFile(draft, `${profile}\n`, { mode: 0o600 })
  await rename(draft, fileOfCurrent())
}

export async function forgetCurrent(profile: string): Promise<void> {
  const current = await readFile(fileOfCurrent(), 'utf8').catch(() => '')
  if (current.trim() === profile) await rm(fileOfCurrent(), { force: true })
}

const fileOfCurrent = () => join(readLoginFolder(), 'current')

function checkName(name: string): string {
  if (NAME.test(name)) return name
  throw new CommandRefused(
    `"${name}" cannot be the name of a profile. Use up to 64 lower-case letters, digits, ".", "_" and "-".`,
  )
}
