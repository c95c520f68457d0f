/** docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md: a change is answered when its line is on the disk. */
import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'

const SLOW_MS = 1_000

it('a line is written when the disk says that it has it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-datasync-'))
  try {
    const journal = join(folder, 'revocations.jsonl')
    const slowly = ['-e', 'trace=fdatasync', '-e', `inject=fdatasync:delay_exit=${SLOW_MS * 1000}`, '-P', journal]
    const program = [process.execPath, join(import.meta.dirname, 'append-line.ts'), journal]
    const { stdout } = await promisify(execFile)('strace', ['-f', '-o', join(folder, 'trace'), ...slowly, ...program])
    expect(Number(stdout)).toBeGreaterThanOrEqual(SLOW_MS)
  } finally {
    removeFolder(folder)
  }
})
