/** A process that appends one line to the journal that it is given, and prints how many milliseconds that took. */
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { openJournal } from '../../../src/store/restore/journal.ts'

const journal = await openJournal(process.argv[2] ?? '', parseKeyset(createKey(1)) as Keyset)
const begun = performance.now()
await journal.append(['{"kind":"access_token","grant":"grt_1","generation":2}'])
console.log(performance.now() - begun)
