/** No payment is sent to the bank twice after a restore from a backup. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { createLog, newId, secondMs } from '../../kernel/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { sql } from '../../postgres/index.ts'
import type { Instruction } from '../../rails/index.ts'
import { createFolderTransport, createIsoBank } from './banks.ts'
import { defaultProfile } from '../../iso20022/index.ts'
import type { BankRules } from './deps.ts'
import { bankInstructionId } from './ids.ts'

let folder: string
const service = await useModules()
const { partnerId } = await addPartner(service)
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'adopt-'))
  for (const name of ['to', 'from', 'archive']) mkdirSync(join(folder, name))
  await service.db.run(sql`delete from rails.iso_adopted`)
  await service.db.run(sql`delete from rails.iso_instructions where partner_id = ${partnerId}`)
  await service.db.run(sql`delete from rails.iso_files`)
})
after(() => rmSync(folder, { recursive: true, force: true }))

const rules = (): BankRules => ({
  id: 'iso20022',
  accounts: [
    {
      iban: 'DE89370400440532013000',
      bic: 'COBADEFFXXX',
      currency: 'EUR',
      ownerName: 'Example Payments Ltd',
      ownerAddress: { town: 'Berlin', country: 'DE' },
    },
  ],
  initiator: { name: 'Example Payments Ltd' },
  preferred: 'Instant',
  instantMax: 100_000_00n,
  reach: { Instant: 'all', CreditTransfer: 'all' },
  unknownBankReachable: true,
  timeZone: 'Europe/Berlin',
  opensAt: 0,
  cutOffAt: 24 * 60,
  closedDays: new Set(),
  paymentsPerFileMax: 100,
  fileWindowMs: 0,
  instantWindowMs: 0,
  batchBooking: false,
  profile: defaultProfile,
  chargeBearer: 'SHAR',
  messageBytesMax: 1_000_000,
  unfinishedAfterMs: 1000,
  missingAfterMs: 1_000_000,
  detailsWithinMs: 1000,
  archive: join(folder, 'archive'),
  pollMs: 1000,
})

/** Acts like a process that has just started. */
function start() {
  const { db, clock } = service
  const transport = createFolderTransport({
    toBank: join(folder, 'to'),
    fromBank: join(folder, 'from'),
    taken: undefined,
  })
  return createIsoBank({
    db,
    clock,
    log: createLog('silent'),
    rules: rules(),
    transport,
    operatorId: operatorPartnerId,
  })
}

const instructions = (count: number): readonly Instruction[] =>
  Array.from({ length: count }, () => {
    const id = newId()
    return {
      partnerId,
      id,
      endToEndId: id.replaceAll('-', ''),
      amount: 12_50n,
      currency: 'EUR' as const,
      creditorName: 'Grace Hopper',
      creditorAccount: 'NL91ABNA0417164300',
      creditorBic: null,
      remittance: null,
      simulatedOutcome: null,
    }
  })

async function send(bank: ReturnType<typeof start>, payments: readonly Instruction[]): Promise<void> {
  await bank.connector.instruct(payments)
  service.clock.advance(secondMs)
  while ((await bank.steps.make()) + (await bank.steps.deliver()) > 0);
}

/** Collects the texts of all files delivered to the bank, and empties its folder. */
function taken(): readonly string[] {
  const names = readdirSync(join(folder, 'to')).filter((name) => name.endsWith('.xml'))
  return names.map((name) => {
    const text = readFileSync(join(folder, 'to', name), 'utf8')
    unlinkSync(join(folder, 'to', name))
    return text
  })
}

const timesIn = (texts: readonly string[], { id }: Instruction): number =>
  texts.filter((text) => text.includes(bankInstructionId({ id, attempt: 1 }))).length

test('payments in files that the restored database does not know are not sent again', async () => {
  const before = instructions(3)
  await send(start(), before)
  const given = [...taken()]
  await service.db.run(sql`delete from rails.iso_instructions where partner_id = ${partnerId}`)
  await service.db.run(sql`delete from rails.iso_files`)
  const fresh = instructions(1)
  await send(start(), [...before, ...fresh])
  given.push(...taken())
  for (const payment of [...before, ...fresh]) assert.equal(timesIn(given, payment), 1)
  const { connector } = start()
  for (const answer of await connector.find([...before, ...fresh])) assert.deepEqual(answer, { accepted: true })
  const rows = await service.db.rows<{ status: string; state: string }>(sql`
    select instruction.status, file.state from rails.iso_instructions instruction
    join rails.iso_files file on file.id = instruction.file_id where instruction.partner_id = ${partnerId}`)
  assert.deepEqual(
    rows,
    Array.from({ length: 4 }, () => ({ status: 'Filed', state: 'Delivered' })),
  )
})

test('a file delivered before the restore is not delivered again', async () => {
  const payments = instructions(2)
  await send(start(), payments)
  const given = [...taken()]
  await service.db.run(
    sql`update rails.iso_files set state = 'Made', staged_name = null, delivered_at = null, lease_id = null, leased_until = null`,
  )
  await send(start(), payments)
  given.push(...taken())
  for (const payment of payments) assert.equal(timesIn(given, payment), 1)
})

test('an undelivered file that was built before the restore is delivered', async () => {
  const bank = start()
  const payments = instructions(2)
  await bank.connector.instruct(payments)
  service.clock.advance(secondMs)
  await bank.steps.make()
  const later = start()
  while ((await later.steps.deliver()) > 0);
  const given = taken()
  for (const payment of payments) assert.equal(timesIn(given, payment), 1)
})
