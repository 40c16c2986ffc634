/** Money of a listed name waits, whatever it comes by: a file of a bank, a checkout session, a wallet. Two persons release or freeze it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { type Currency, present, secondMs } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications } from '../banks/settlement/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { createSessions } from '../../../test/support/checkout.ts'
import { createTestService, ip, type Service } from '../../../test/support/composition.ts'
import {
  type BankFolders,
  createBankFolders,
  createIncomingBank,
  entryOf,
  reportXml,
} from '../../../test/support/iso-incoming.ts'
import { addHolder, listedName, sampleList, screenAll } from '../../../test/support/screening/held.ts'
import { checkLedger } from '../../../test/model/ledger-audit.ts'

let service: Service
let folders: BankFolders
before(async () => {
  service = await createTestService()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  folders = await createBankFolders()
})
after(async () => {
  await service.close()
  await folders.remove()
})
const sessions = createSessions(() => service)

type Holder = Awaited<ReturnType<typeof addHolder>>
type Arrived = {
  /** The source goes on; a file-based bank also reports the same money once more. */
  readonly again: () => Promise<void>
  /** The status of the checkout session. */
  readonly seen?: () => Promise<string>
}
type Source = {
  readonly currency: Currency
  readonly amount: bigint
  readonly steps: readonly string[]
  readonly events: readonly string[]
  readonly seen?: Readonly<Record<'held' | 'clear' | 'confirm', string>>
  readonly arrive: (holder: Holder) => Promise<Arrived>
}

let files = 0
const put = (text: string) => folders.put(`${(files += 1)}.xml`, text)

const sources: Readonly<Record<string, Source>> = {
  'a file of a bank': {
    currency: 'EUR',
    amount: 12_34n,
    steps: ['Created', 'Accepted'],
    events: ['accepted'],
    arrive: async ({ iban }) => {
      const bank = createIncomingBank(service, folders)
      const details = [
        { references: { endToEndId: 'E1' }, creditorAccount: { iban }, debtor: { name: 'Grace Hopper' } },
      ]
      const entry = entryOf(12_34n, { details })
      await put(reportXml([entry]))
      await bank.work()
      return {
        again: async () => {
          await put(reportXml([entry], { kind: 'camt.052' }))
          await bank.work()
        },
      }
    },
  },
  'a checkout session whose payer approves at the bank': {
    currency: 'EUR',
    amount: 49_90n,
    steps: ['Created', 'Initiated', 'Submitted', 'Accepted'],
    events: ['created', 'initiated', 'submitted', 'accepted'],
    seen: { held: 'Processing', clear: 'Completed', confirm: 'Failed' },
    arrive: async (holder) => {
      const opened = await sessions.open({}, holder)
      await sessions.pay(opened)
      await sessions.settle()
      return { again: sessions.settle, seen: () => sessions.statusOf(opened) }
    },
  },
  'a transfer that names a checkout session': {
    currency: 'EUR',
    amount: 49_90n,
    steps: ['Created', 'Accepted'],
    events: ['created', 'accepted'],
    seen: { held: 'Processing', clear: 'Completed', confirm: 'Failed' },
    arrive: async (holder) => {
      const opened = await sessions.open({}, holder)
      await service.checkout.simulate(holder.partnerId, opened.session.id, { step: 'credit' }, ip)
      await sessions.settle()
      return { again: sessions.settle, seen: () => sessions.statusOf(opened) }
    },
  },
  'a wallet': {
    currency: 'USDC',
    amount: 5_000_000n,
    steps: ['Created', 'Accepted'],
    events: ['accepted'],
    arrive: async ({ partnerId, customer }) => {
      const { chains, simulations, wallets } = service
      const { wallet } = await wallets.create(partnerId, { customerId: customer.id, currency: 'USDC' })
      const follow = async () => {
        await present(chains.simulated, 'a sandbox has a chain').makeBlocks(20)
        for (const connector of chains.connectors) while ((await connector.step()) > 0);
        const settlement = { ...service.settlement, connectors: chains.connectors }
        while ((await processBankNotifications(settlement)) > 0);
      }
      await follow()
      await simulations.walletDeposit(partnerId, wallet.id, { amount: rawNumber('5.00') } as never)
      await follow()
      return { again: follow }
    },
  },
}

async function stateOf(partnerId: string, currency: Currency) {
  const [deposit, ...others] = await service.db.rows<{ status: string; reference: string; id: string }>(
    sql`select status, reference, id from deposits.deposits where partner_id = ${partnerId}`,
  )
  assert.equal(others.length, 0)
  const { reference, id, status } = present(deposit, 'the money is a deposit')
  const { row, timeline } = await service.transactions.get(partnerId, reference)
  const events = await service.db.rows<{ type: string }>(
    sql`select type from events.events where partner_id = ${partnerId} and reference = ${reference} order by id`,
  )
  const accounts = await service.db.rows<{ name: string; posted: bigint }>(
    sql`select name, posted from ledger.accounts where partner_id = ${partnerId} and currency = ${currency}`,
  )
  const sumOf = (prefix: string) =>
    accounts.reduce((sum, { name, posted }) => (name.startsWith(prefix) ? sum + posted : sum), 0n)
  const cases = (await service.cases.list(undefined, 1000)).filter((found) => found.partnerId === partnerId)
  await checkLedger(service.db, partnerId)
  return {
    deposit: status,
    transaction: row.status,
    steps: timeline.map(({ step }) => step),
    events: events.map(({ type }) => type.replace('partner.customer.deposit.', '')),
    money: [sumOf('balance'), sumOf('suspense'), sumOf('settlement.')],
    // The case of a hold has the id of the deposit.
    cases: cases.map((found) => [found.kind, found.booked, found.id === id]),
  }
}

async function decide(partnerId: string, outcome: 'clear' | 'confirm', staff: string): Promise<void> {
  const hits = (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.partnerId === partnerId)
  assert.ok(hits.length > 0)
  for (const { id } of hits) {
    const deciding = { partnerId, id, outcome, staff, note: 'Compared with the passport.' }
    await service.db.transaction((tx) => service.screening.decide(tx, deciding))
  }
}
async function look(): Promise<void> {
  service.clock.advance(6 * secondMs)
  await service.deposits.screenDue(100)
}

for (const [name, { currency, amount, steps, events, seen, arrive }] of Object.entries(sources))
  for (const outcome of ['clear', 'confirm'] as const)
    test(`${name}: the money waits, two persons ${outcome} the name, and it is booked once`, async () => {
      const holder = await addHolder(service, listedName)
      const { partnerId } = holder
      const arrived = await arrive(holder)
      const held = {
        deposit: 'Screening',
        transaction: 'Pending',
        steps: [...steps, 'Screening'],
        events,
        money: [0n, amount, -amount],
        cases: [['sanctions_hold', amount, true]],
      }
      const assertIs = async (state: object, as: 'held' | 'clear' | 'confirm') => {
        assert.deepEqual(await stateOf(partnerId, currency), state)
        assert.equal(await arrived.seen?.(), seen?.[as])
      }
      await assertIs(held, 'held')
      await arrived.again()
      await screenAll(service)
      await decide(partnerId, outcome, 'Sam Staff')
      await look()
      await assertIs(held, 'held')
      await decide(partnerId, outcome, 'Kim Staff')
      await look()
      const ended =
        outcome === 'clear'
          ? {
              deposit: 'Completed',
              transaction: 'Completed',
              steps: [...held.steps, 'Settled', 'Credited'],
              events: [...events, 'completed', 'transaction.status.changed'],
              money: [amount, 0n, -amount],
              cases: [],
            }
          : {
              ...held,
              deposit: 'Failed',
              transaction: 'Unsuccessful',
              steps: [...held.steps, 'Failed'],
              events: [...events, 'failed', 'transaction.status.changed'],
            }
      await assertIs(ended, outcome)
      await look()
      await arrived.again()
      await assertIs(ended, outcome)
    })
