/** Creditor references on their way from a bank's file to the sessions that they pay. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { createRandom } from '../../../../test/conformance/hostile.ts'
import { createSessions, type Opened } from '../../../../test/support/checkout.ts'
import { addPartner, balanceOf, createTestService, ip, type Service } from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  casesOf,
  createBankFolders,
  createIncomingBank,
  entryOf,
  ownIban,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'
import { newReference, remitted } from '../../../../test/support/remittances.ts'
import { samplesFolder } from '../../../../test/support/samples.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { sql } from '../../postgres/index.ts'

let service: Service
let folders: BankFolders
before(async () => {
  service = await createTestService({ chooseConnector: () => 'iso20022' })
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  folders = await createBankFolders()
})
after(async () => {
  await service.close()
  await folders.remove()
})
const sessions = createSessions(() => service)

async function ownerOf() {
  const partner = await addPartner(service)
  const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
  return { partner, iban: ibans[0].iban, posted: async () => (await balanceOf(service, partner.partnerId)).posted }
}

test('of 600 payments in a file each pays the deposit that it names, and none that of another partner', async () => {
  const random = createRandom(600)
  const [owner, stranger] = [await ownerOf(), await ownerOf()]
  const awaited = async ({ partner }: typeof owner) => {
    const creditorReference = newReference(random)
    const { row } = await service.deposits.open(
      {
        partnerId: partner.partnerId,
        operation: 'simulateDeposit',
        creditorReference,
        customerRef: partner.customer.id,
        amount: 500n,
        currency: 'EUR',
        idempotencyKey: null,
        websiteReference: null,
        customFields: null,
        ip,
        expiresAfterMs: 3_600_000,
        variant: '',
      },
      () => Promise.resolve(),
    )
    return { ...row, creditorReference }
  }
  const deposits = []
  for (let count = 0; count < 600; count += 1) deposits.push(await awaited(owner))
  const foreign = await awaited(stranger)
  const entries = deposits.map(({ creditorReference }) => {
    const { detail, information } = remitted(random, creditorReference)
    return entryOf(500n, {
      details: [{ creditorAccount: { iban: owner.iban }, debtor: { name: 'Ada' }, ...detail }],
      ...(information === undefined ? {} : { information }),
    })
  })
  // The reference of another partner, and a booking whose text names one deposit for two payments of which none does.
  const paidWithForeign = entryOf(700n, {
    details: [{ creditorAccount: { iban: owner.iban }, remittance: { unstructured: [foreign.creditorReference] } }],
  })
  const kept = await awaited(owner)
  const half = { amount: { currency: 'EUR', minor: 500n }, creditorAccount: { iban: owner.iban } } as const
  const several = entryOf(1000n, { details: [half, half], information: kept.creditorReference })
  const before = await owner.posted()
  await folders.put('payments.xml', reportXml([...entries, paidWithForeign, several], { kind: 'camt.053' }))
  await createIncomingBank(service, folders).work()
  const statuses = await service.db.rows<{ id: string; status: string }>(
    sql`select id, status from deposits.deposits where creditor_reference is not null`,
  )
  const byId = new Map(statuses.map(({ id, status }) => [id, status]))
  const lost = deposits.flatMap(({ id }, at) => (byId.get(id) === 'Completed' ? [] : [entries[at]]))
  assert.deepEqual(lost, [])
  assert.deepEqual([byId.get(foreign.id), byId.get(kept.id)], ['Created', 'Created'])
  assert.equal((await owner.posted()) - before, 600n * 500n + 700n + 1000n)
  assert.deepEqual(await casesOf(service), [])
})

const sample = join(samplesFolder ?? '', 'reported', 'references-beside-text.xml')
const skip = samplesFolder === undefined || !existsSync(sample) ? 'SAMPLES_DIR does not name the reported files' : false

test('the reported file pays each waiting session, wherever the reference stands in it', { skip }, async () => {
  const { partner, iban } = await ownerOf()
  const opened: Opened[] = []
  for (let euros = 10; euros <= 17; euros += 1)
    opened.push(await sessions.open({ amount: rawNumber(`${euros}.00`) }, partner))
  const values: Record<string, string> = { account: ownIban, customerIban: iban }
  for (const [at, { session }] of opened.entries()) {
    const { creditorReference } = session
    values[`reference${at + 1}`] = creditorReference
    values[`first 9 characters of reference${at + 1}`] = creditorReference.slice(0, 9)
    values[`the rest of reference${at + 1}`] = creditorReference.slice(9)
  }
  const filled = readFileSync(sample, 'utf8').replaceAll(/\{\{([^}]+)\}\}/g, (_all, name: string) => {
    const value = values[name]
    assert.ok(value !== undefined, name)
    return value
  })
  await folders.put('reported.xml', filled)
  await createIncomingBank(service, folders).work()
  assert.deepEqual(
    await Promise.all(opened.map((one) => sessions.statusOf(one))),
    opened.map(() => 'Completed'),
  )
})
