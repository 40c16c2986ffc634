/** Partners whose balance has monitors, and what their tests do: move money, let workers judge it, read what was told. */
import { type BodyOf, rawNumber } from '@partner-payments/wire'
import { idTime, newId, present } from '../../service/src/kernel/index.ts'
import { singleEntry } from '../../service/src/ledger/index.ts'
import type { Monitors } from '../../service/src/accounts/index.ts'
import { oldestTransactionStart, sql } from '../../service/src/postgres/index.ts'
import { addPartner, type Service } from './composition.ts'
import { until } from './until.ts'

/** Settings with which committed movements may be judged at once. */
export const monitorSettings = { REPORT_CLOCK_DIFFERENCE_MS: '0' }
export const toAda = { emails: ['ada@example.com'] }

/** Adds a partner with a balance of 1,000.00 euros and Ada in its team. */
export async function addWatched(service: Service) {
  const partner = await addPartner(service, 1_000_00n)
  const [account] = await service.ledger.balances(service.db, partner.partnerId)
  const key = { partnerId: partner.partnerId, accountId: present(account, 'it has money').id }
  const [invited] = await service.users.createInvitations(partner.caller, {
    invitations: [{ email: 'ada@example.com', fullName: 'Ada Lovelace', role: 'Admin' }],
  })
  return { ...partner, key, invitationId: present(invited, 'it is invited').id }
}
export type WatchedPartner = Awaited<ReturnType<typeof addWatched>>

export const addMonitor = (
  service: Service,
  { key }: Pick<WatchedPartner, 'key'>,
  fields: Partial<BodyOf<'createAccountMonitor'>> = {},
  threshold = '500.00',
) => service.monitors.createMonitor(key, { direction: 'Below', threshold: rawNumber(threshold), ...fields })

/** Moves money in or, below zero, out. */
export async function moveMoney(
  { db, ledger }: Service,
  { partnerId }: Pick<WatchedPartner, 'partnerId'>,
  amount: bigint,
  reference: string,
  id = newId(),
): Promise<void> {
  const settlement = 'settlement.sandbox' as const
  const sides = amount < 0n ? (['balance', settlement] as const) : ([settlement, 'balance'] as const)
  const common = { partnerId, currency: 'EUR' as const, partyId: partnerId, reference }
  const transfer = { ...common, debit: sides[0], credit: sides[1], amount: amount < 0n ? -amount : amount }
  await db.transaction((tx) => ledger.enter(tx, { ...singleEntry('bank', transfer), id }))
}

/** Waits until all committed movements may be judged. */
export async function untilCertain({ db }: Pick<Service, 'db'>): Promise<void> {
  const now = idTime(newId())
  await until('the clock of the database goes on', async () => (await oldestTransactionStart(db)) > now)
}

/** Workers judge at one time what is committed. */
export async function runMonitors(
  service: Service,
  ...workers: readonly Pick<Monitors, 'monitorStep'>[]
): Promise<void> {
  await untilCertain(service)
  const judge = async ({ monitorStep }: Pick<Monitors, 'monitorStep'>) => {
    while ((await monitorStep()) > 0);
  }
  await Promise.all((workers.length === 0 ? [service.monitors] : workers).map(judge))
}

/** Oldest first: kind, balance and reference. At most 100. */
export async function crossingsOf({ monitors }: Service, { key }: Pick<WatchedPartner, 'key'>, monitorId: string) {
  const { data } = await monitors.listCrossings(key, monitorId, { limit: '100' })
  return data.toReversed().map(({ kind, balance, reference }) => [kind, balance, reference])
}

/** The data of the events, oldest first. */
export async function crossedEventsOf({ db }: Service, { partnerId }: Pick<WatchedPartner, 'partnerId'>) {
  const rows = await db.rows<{ readonly data: string }>(sql`
    select data from events.events where partner_id = ${partnerId} and type = 'account.balance.crossed' order by id`)
  return rows.map(({ data }) => JSON.parse(data) as Readonly<Record<string, unknown>>)
}

export const crossedMailsOf = ({ db }: Service, { partnerId }: Pick<WatchedPartner, 'partnerId'>) =>
  db.rows<{ readonly toAddress: string; readonly balance: string }>(sql`
    select to_address, data ->> 'balance' as balance from mail.messages
    where partner_id = ${partnerId} and kind = 'balance_crossed' order by id`)
