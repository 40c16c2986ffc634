/** The two files of OFAC on a real database: one replaces the other, and both have addresses on chains. */
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

const listedWallet = '0x00000000000000000000000000000000000Ba5Ed'
const addWallet = (walletAddress: string) =>
  service.beneficiaries.create(partner.partnerId, { name: 'Grace Hopper', currency: 'USDC', walletAddress })
async function work(): Promise<void> {
  while ((await service.screener.sweepStep()) > 0);
  while ((await service.screener.screenStep()) > 0);
}
const hitsOf = async (subjectId: string) =>
  (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.subjectId === subjectId)

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
  await work()
  assert.deepEqual(
    (await hitsOf(id)).map(({ entryId, listedName }) => [entryId, listedName]),
    [['99001', 'کشوند هادی']],
  )
})

test('a wallet of a list is a hit under any name, and holds until two persons clear it', async () => {
  const { partnerId } = partner
  const { id } = await addWallet(listedWallet.toLowerCase())
  const other = await addWallet('0x00000000000000000000000000000000000ba5ee')
  await work()
  const holdOf = async (subjectId: string) => {
    const key = { partnerId, kind: 'beneficiary', id: subjectId } as const
    return (await service.screening.holdsOf([key]))(key)
  }
  assert.deepEqual(await hitsOf(other.id), [])
  assert.equal(await holdOf(other.id), undefined)
  const [hit, ...more] = await hitsOf(id)
  assert.ok(hit && more.length === 0)
  const { role, entryId, score, listedName } = hit
  assert.deepEqual(
    [role, entryId, score, listedName.toLowerCase()],
    ['account', '99002', 100, listedWallet.toLowerCase()],
  )
  assert.equal(await holdOf(id), 'open')
  await work()
  assert.equal((await hitsOf(id)).length, 1)
  for (const staff of ['Sam Staff', 'Kim Staff']) {
    assert.equal(await holdOf(id), 'open')
    const deciding = { partnerId, id: hit.id, outcome: 'clear', staff, note: 'The list was mistaken.' } as const
    await service.db.transaction((tx) => service.screening.decide(tx, deciding))
  }
  assert.equal(await holdOf(id), undefined)
})

test('money from a wallet of a list waits, whatever the name of its payer', async () => {
  const { partnerId } = partner
  const credit = {
    partnerId,
    customer: undefined,
    payer: undefined,
    payerName: 'Grace Hopper',
    payerCountries: [],
    craftText: null,
  }
  const credits = [listedWallet, listedWallet.toLowerCase(), '0x00000000000000000000000000000000000Ba5Ee', ''].flatMap(
    (payerAccount) => [credit, { ...credit, payerName: '' }].map((each) => ({ ...each, payerAccount })),
  )
  const holds = await service.db.transaction((tx) => service.screening.holdsOfCredits(tx, credits))
  assert.deepEqual(holds, ['open', 'open', 'open', 'open', undefined, undefined, undefined, undefined])
})
