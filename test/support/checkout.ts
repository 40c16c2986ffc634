/** Checkout sessions of a test: opened, paid by a payer of the sandbox, and observed. */
import assert from 'node:assert/strict'
import { type BodyOf, rawNumber } from '@partner-payments/wire'
import { Refusal } from '../../service/src/kernel/api/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import type { Session } from '../../service/src/checkout/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { checkLedger } from '../model/ledger-audit.ts'
import { processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { addPartner, ip, type Service, stepMsDefault, type TestPartner } from './composition.ts'
import { ledgerFindings } from './integrity.ts'

type SessionCreate = BodyOf<'createCheckoutSession'>

export const hasCode = (wanted: string) => (error: unknown) => error instanceof Refusal && error.code === wanted

export const bodyFor = (partner: TestPartner, fields: Partial<SessionCreate> = {}): SessionCreate =>
  ({
    amount: rawNumber('49.90'),
    currency: 'EUR',
    idempotencyKey: newId(),
    ...(fields.customer === undefined ? { customerId: partner.customer.id } : {}),
    ...fields,
  }) as SessionCreate

export type OpenedSession = { readonly partner: TestPartner; readonly session: Session; readonly token: string }

/** The service of a test file is made after its helpers. */
export function createSessions(service: () => Service) {
  async function open(fields: Partial<SessionCreate> = {}, given?: TestPartner): Promise<OpenedSession> {
    const partner = given ?? (await addPartner(service()))
    const { session } = await service().checkout.create(partner.caller, bodyFor(partner, fields))
    return { partner, session, token: session.url.split('/').at(-1) ?? '' }
  }

  /** Lets the bank report everything that it has scheduled. */
  async function settle(): Promise<void> {
    service().clock.advance(10 * stepMsDefault)
    while ((await processBankNotifications(service().settlement)) > 0);
  }

  const statusOf = async ({ partner, session }: OpenedSession) =>
    (await service().checkout.get(partner.partnerId, session.id)).status

  const eventsOf = async ({ partner: { partnerId }, session: { reference } }: OpenedSession) => {
    const rows = await service().db.rows<{ type: string; data: string }>(sql`
    select type, data from events.events where partner_id = ${partnerId} and reference = ${reference} order by id`)
    return rows.map(({ type, data }) => ({
      type: type.replace('partner.customer.deposit.', ''),
      data: JSON.parse(data) as Record<string, unknown>,
    }))
  }
  const namesOf = async (opened: OpenedSession) => (await eventsOf(opened)).map(({ type }) => type)

  const casesOf = (partnerId: string) =>
    service().db.rows<{ kind: string; amount: bigint | null }>(sql`
    select kind, booked as amount from cases.cases where partner_id = ${partnerId} order by id`)

  /** The payer goes to the bank and signs in. */
  async function goToBank({ token }: OpenedSession, from = '198.51.100.7', country = 'FR'): Promise<void> {
    assert.equal(await service().checkout.begin(token, from, country), true)
    await service().checkout.signIn(token, 'Grace Hopper')
  }

  async function pay(opened: OpenedSession): Promise<void> {
    await goToBank(opened)
    await service().checkout.decide(opened.token, 'approved')
  }
  return { open, settle, statusOf, eventsOf, namesOf, casesOf, goToBank, pay }
}

/** Sessions that are paid in parts, and where their money is. */
export function createSessionsInParts(service: () => Service) {
  const sessions = createSessions(service)
  const { open, settle, casesOf } = sessions
  const inParts = (partner?: OpenedSession['partner']) => open({ partialPayments: true }, partner)

  /** The payer sends a part, which the bank reports with `settle`. */
  const send = ({ partner, session }: OpenedSession, amount: string, debtorName = 'Grace Hopper', currency = 'EUR') =>
    service().checkout.simulate(
      partner.partnerId,
      session.id,
      { step: 'credit', amount: rawNumber(amount), currency, debtorName },
      ip,
    )
  async function sendAll(opened: OpenedSession, ...amounts: readonly string[]): Promise<void> {
    for (const amount of amounts) {
      await send(opened, amount)
      await settle()
    }
  }

  /** Money of the session by where it is, and the sessions as the partner reads it. Nothing in the ledger disagrees. */
  async function stateOf({ partner: { partnerId }, session }: OpenedSession) {
    await checkLedger(service().db, partnerId)
    assert.deepEqual(await ledgerFindings(service().db, partnerId), [])
    const accounts = await service().db.rows<{ name: string; posted: bigint }>(sql`
      select name, posted from ledger.accounts where partner_id = ${partnerId} and posted <> 0`)
    const open = await service().db.row<{ sum: bigint }>(sql`
      select coalesce(sum(booked), 0)::bigint as sum from cases.cases where partner_id = ${partnerId} and resolved_at is null`)
    const posted = Object.fromEntries(accounts.map(({ name, posted: sum }) => [name, sum]))
    assert.equal(posted['suspense'] ?? 0n, open?.sum, 'suspense is the sum of the open cases')
    const { status, paidAmount, remainingAmount, parts } = await service().checkout.get(partnerId, session.id)
    return {
      status,
      paid: paidAmount,
      remaining: remainingAmount,
      parts: parts.map(({ amount, status: each }) => `${amount} ${each}`),
      waits: posted['parts'] ?? 0n,
      balance: posted['balance'] ?? 0n,
      suspense: posted['suspense'] ?? 0n,
    }
  }
  const kindsOf = async ({ partner }: OpenedSession) =>
    (await casesOf(partner.partnerId)).map(({ kind, amount }) => [kind, amount])
  return { ...sessions, inParts, send, sendAll, stateOf, kindsOf }
}

export const paidInParts = {
  status: 'Completed',
  paid: 4990n,
  remaining: 0n,
  waits: 0n,
  balance: 4990n,
  suspense: 0n,
} as const
