/** The BIC directory: loads, completion and refusal by it, and what reaches payouts. It is of no partner: this file has its own database. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { addPartner, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { BicFileProblem } from './index.ts'

let service: Service
before(async () => {
  service = await createTestService({ connectionsMax: 8 })
})
after(() => service.close())
beforeEach(async () => {
  await service.db.run(sql`delete from beneficiaries.bics`)
  await service.db.run(sql`delete from beneficiaries.bic_directories`)
})

const header = 'country,bank code,BIC,name\n'
const commerzbank = 'DE,37040044,COBADEFFXXX,Commerzbank\n'
const natWest = 'GB,NWBK,NWBKGB2LXXX,NatWest\n'
const branch = 'GB,NWBK601613,NWBKGB21613,NatWest Wakefield\n'
const load = (...lines: readonly string[]) => service.beneficiaries.bicDirectory.load(header + lines.join(''), 'Sam')
const countsOf = ({ version, entries, added, changed, removed, isRepetition }: Awaited<ReturnType<typeof load>>) => ({
  version,
  counts: [entries, added, changed, removed],
  isRepetition,
})
const bicOf = async (partnerId: string, id: string) => (await service.beneficiaries.get(partnerId, id)).bic
const german = { name: 'Grace Hopper', iban: 'DE89370400440532013000', currency: 'EUR' }
const british = { name: 'Grace Hopper', iban: 'GB29NWBK60161331926819', currency: 'GBP' }
const refusedBic = (says: RegExp) => (error: unknown) => {
  assert(error instanceof Refusal, String(error))
  assert.deepEqual([error.code, error.errors[0]?.pointer], ['validation_failed', '/bic'])
  assert.match(error.errors[0]?.message ?? '', says)
  return true
}

test('a directory has versions, each with what it changed; the same file again is a repetition', async () => {
  const { bicDirectory } = service.beneficiaries
  assert.equal(await bicDirectory.current(service.db), undefined)
  assert.deepEqual(countsOf(await load(commerzbank, natWest)), {
    version: 1,
    counts: [2, 2, 0, 0],
    isRepetition: false,
  })
  assert.deepEqual(countsOf(await load(commerzbank, natWest)), { version: 1, counts: [2, 2, 0, 0], isRepetition: true })
  const next = await load(commerzbank.replace('Commerzbank', 'Commerz'), branch)
  assert.deepEqual(countsOf(next), { version: 2, counts: [2, 1, 1, 1], isRepetition: false })
  const { isRepetition: _no, ...row } = next
  assert.deepEqual(await bicDirectory.current(service.db), row)
  assert.equal(row.loadedBy, 'Sam')
  const history = await service.db.rows(sql`
    select bank_code, from_version, until_version from beneficiaries.bics order by bank_code, from_version`)
  assert.deepEqual(history, [
    { bankCode: '37040044', fromVersion: 1, untilVersion: 2 },
    { bankCode: '37040044', fromVersion: 2, untilVersion: null },
    { bankCode: 'NWBK', fromVersion: 1, untilVersion: 2 },
    { bankCode: 'NWBK601613', fromVersion: 2, untilVersion: null },
  ])
})

test('a file with a wrong line changes nothing', async () => {
  await load(commerzbank)
  await assert.rejects(
    load(natWest, 'DE,1,COBADEFF,Bank\n'),
    (error) => error instanceof BicFileProblem && error.line === 3,
  )
  assert.equal((await service.beneficiaries.bicDirectory.current(service.db))?.version, 1)
})

test('two loads at once make two versions, one after the other', async () => {
  const loaded = await Promise.all([load(commerzbank), load(commerzbank, natWest)])
  assert.deepEqual(loaded.map(({ version }) => version).toSorted(), [1, 2])
  const standing = await service.db.rows(sql`select bank_code from beneficiaries.bics where until_version is null`)
  const newest = loaded.find(({ version }) => version === 2)
  assert.equal(standing.length, newest?.entries)
})

test('without a directory nothing is completed, and only the country of a BIC is compared', async () => {
  const { partnerId } = await addPartner(service)
  assert.equal((await service.beneficiaries.create(partnerId, german)).bic, null)
  assert.equal((await service.beneficiaries.create(partnerId, { ...german, bic: 'DEUTDEFF' })).bic, 'DEUTDEFF')
  await assert.rejects(
    service.beneficiaries.create(partnerId, { ...german, bic: 'ABNANL2A' }),
    refusedBic(/must be DE$/),
  )
})

test('a BIC is completed, kept if it is that of the bank, and refused with a pointer if it is not', async () => {
  await load(commerzbank, natWest, branch)
  const { partnerId } = await addPartner(service)
  const create = (input: {
    readonly name: string
    readonly iban: string
    readonly currency: string
    readonly bic?: string
  }) => service.beneficiaries.create(partnerId, input)
  const completed = await create(german)
  assert.equal(completed.bic, 'COBADEFFXXX')
  assert.deepEqual(await service.beneficiaries.get(partnerId, completed.id), completed)
  assert.equal((await create(british)).bic, 'NWBKGB21613', 'the branch comes before the bank')
  assert.equal((await create({ ...german, bic: 'cobadeff370' })).bic, 'COBADEFF370')
  await assert.rejects(create({ ...german, bic: 'DEUTDEFF' }), refusedBic(/not the BIC of the bank/))
  await assert.rejects(create({ ...german, bic: 'ABNANL2A' }), refusedBic(/must be DE$/))
  // A bank that the directory does not know: only the country is compared.
  const dutch = { ...german, iban: 'NL91ABNA0417164300' }
  assert.equal((await create(dutch)).bic, null)
  assert.equal((await create({ ...dutch, bic: 'INGBNL2A' })).bic, 'INGBNL2A')
  await assert.rejects(create({ ...dutch, bic: 'COBADEFF' }), refusedBic(/must be NL$/))
})

test('a load completes what was there: never a BIC that was given, and no bank that is gone', async () => {
  const { partnerId } = await addPartner(service)
  const other = await addPartner(service)
  const { beneficiaries } = service
  const [without, given, removed] = [
    await beneficiaries.create(partnerId, german),
    await beneficiaries.create(partnerId, { ...german, bic: 'COBADEFF370' }),
    await beneficiaries.create(partnerId, german),
  ]
  await beneficiaries.remove(partnerId, removed.id)
  const wallet = { name: 'Grace', currency: 'USDC', walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7' }
  await beneficiaries.create(partnerId, wallet)
  const { completeAll } = beneficiaries.bicDirectory
  await load(commerzbank)
  // Two beneficiaries of `addPartner`, and one of these.
  assert.equal(await completeAll(partnerId), 3)
  assert.equal(await completeAll(partnerId), 0)
  assert.equal(await bicOf(partnerId, without.id), 'COBADEFFXXX')
  assert.equal(await bicOf(partnerId, given.id), 'COBADEFF370')
  assert.equal(await bicOf(other.partnerId, other.beneficiary.id), null, 'each partner is completed on its own')
  await load(commerzbank.replace('COBADEFFXXX', 'COBADEFF700'))
  assert.deepEqual(
    await Promise.all([completeAll(partnerId), completeAll(partnerId)]).then((both) => both.toSorted()),
    [0, 3],
  )
  assert.equal(await bicOf(partnerId, without.id), 'COBADEFF700')
  await load(natWest)
  assert.equal(await completeAll(partnerId), 3)
  assert.equal(await bicOf(partnerId, without.id), null)
})

test('a payout has the completed BIC, which its instruction carries', async () => {
  const partner = await addPartner(service, 10_00n)
  await load(commerzbank)
  await service.beneficiaries.bicDirectory.completeAll(partner.partnerId)
  const { payout } = await pay(service, partner, '1.00', { idempotencyKey: newId() })
  assert.equal(payout.creditorBic, 'COBADEFFXXX')
})
