/** Folder of the logins of this machine: where each platform keeps the settings of a user. */
import { posix, win32 } from 'node:path'

type Machine = {
  readonly platform: NodeJS.Platform
  readonly home: string
  /** XDG_CONFIG_HOME. A relative path is ignored, as the XDG Base Directory Specification requires. */
  readonly configHome: string
  /** APPDATA, on Windows. */
  readonly appData: string
}

export function loginFolderOf({ platform, home, configHome, appData }: Machine): string {
  if (platform === 'win32') return win32.join(appData || win32.join(home, 'AppData', 'Roaming'), 'latchkey')
  if (posix.isAbsolute(configHome)) return posix.join(configHome, 'latchkey')
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support', 'latchkey')
  return posix.join(home, '.config', 'latchkey')
}
