/** The two files of OFAC on a real database: one replaces the other. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service, type TestPartner } from '../../../test/support/composition.ts'
import { readSanctionsList } from './index.ts'

let service: Service
let partner: TestPartner
before(async () => {
  service = await createTestService()
  partner = await addPartner(service)
})
after(() => service.close())

async function* bytesOf(name: string): AsyncGenerator<Uint8Array> {
  yield await readFile(new URL(`samples/${name}.xml`, import.meta.url))
}

test('the advanced file of OFAC replaces the other one: only entries that say something else change', async () => {
  const counts = async (name: string) => {
    const list = await readSanctionsList(bytesOf(name))
    const { source, added, changed, removed } = await service.screening.lists.load(list, 'Sam Staff')
    return [source, added, changed, removed]
  }
  assert.deepEqual(await counts('ofac'), ['ofac', 3, 0, 0])
  // One has a name in its original script.
  assert.deepEqual(await counts('ofac-advanced'), ['ofac', 0, 1, 0])
  const account = { iban: 'DE89370400440532013000', currency: 'EUR', name: 'هادی کشوند' } as const
  const { id } = await service.beneficiaries.create(partner.partnerId, account)
  while ((await service.screener.sweepStep()) > 0);
  while ((await service.screener.screenStep()) > 0);
  const hits = (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.subjectId === id)
  assert.deepEqual(
    hits.map(({ entryId, listedName }) => [entryId, listedName]),
    [['99001', 'کشوند هادی']],
  )
})
