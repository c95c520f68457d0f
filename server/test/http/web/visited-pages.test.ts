/** The benchmark of pages measures pages: none of what it requests is a redirect or a failure. */
import { expect, test } from 'vitest'
import { openPages, visitPage } from '../../../../bench/visited-pages.ts'
import { startNorthwind } from '../../rig/scenes/northwind.ts'

test('every page that the benchmark visits is a page', async () => {
  const northwind = await startNorthwind()
  try {
    const refused: unknown[] = []
    for (const page of await openPages(northwind)) {
      await visitPage(northwind.service.address, page).catch((error: Error) => refused.push(error.message))
    }
    expect(refused).toEqual([])
  } finally {
    await northwind.stop()
  }
})
