/** The packed library as a page loads it: one file, bundled from node_modules. */
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { packedSdk } from './packed.ts'

export type Bundle = { readonly text: string; readonly bytes: number; readonly compressedBytes: number }

export async function bundle(imports: string): Promise<Bundle> {
  const { outputFiles } = await build({
    stdin: { contents: imports, resolveDir: await packedSdk() },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
  })
  const [{ contents, text } = { contents: new Uint8Array(), text: '' }] = outputFiles
  return { text, bytes: contents.length, compressedBytes: gzipSync(contents, { level: 9 }).length }
}
