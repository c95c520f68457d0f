/** The bundle for pages: the library is packed by npm and bundled from node_modules, as applications do it. */
import { expect, test } from 'vitest'
import { bundle } from '../rig/bundle.ts'

const MAX_BYTES = 8_500

test('the entry for pages is smaller than 8.5 KB, compressed, and contains neither the device flow nor Node modules', async () => {
  const { text, bytes, compressedBytes } = await bundle("export * from '@latchkey/sdk/browser'")
  process.stdout.write(`@latchkey/sdk/browser: ${bytes} bytes minified, ${compressedBytes} compressed\n`)
  expect(compressedBytes).toBeLessThan(MAX_BYTES)
  expect(text).not.toMatch(/device\/polling|node:|require\(/)
})

test.each([
  '@latchkey/sdk',
  '@latchkey/sdk/express',
  '@latchkey/sdk/fastify',
  '@latchkey/sdk/hono',
  '@latchkey/sdk/testing',
])(
  '%s runs where there is no Node',
  async (entry) => {
    const { text } = await bundle(`export * from '${entry}'`)
    expect(text).not.toMatch(/node:|require\(|process\.|Buffer\b/)
  },
  60_000,
)
