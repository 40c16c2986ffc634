/** Checkout sessions of a test: opened, paid by a payer of the sandbox, and observed. */
import assert from 'node:assert/strict'
import { type BodyOf, rawNumber } from '@partner-payments/wire'
import { Refusal } from '../../service/src/api/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import type { Session } from '../../service/src/modules/checkout/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { processBankNotifications } from '../../service/src/settlement/index.ts'
import { addPartner, type Service, stepMsDefault, type TestPartner } from './composition.ts'

type SessionCreate = BodyOf<'createCheckoutSession'>

export const code = (wanted: string) => (error: unknown) => error instanceof Refusal && error.code === wanted

export const bodyFor = (partner: TestPartner, fields: Partial<SessionCreate> = {}): SessionCreate =>
  ({
    amount: rawNumber('49.90'),
    currency: 'EUR',
    idempotencyKey: newId(),
    ...(fields.customer === undefined ? { customerId: partner.customer.id } : {}),
    ...fields,
  }) as SessionCreate

export type Opened = { readonly partner: TestPartner; readonly session: Session; readonly token: string }

/** The service of a test file is made after its helpers. */
export function createSessions(service: () => Service) {
  async function open(fields: Partial<SessionCreate> = {}, given?: TestPartner): Promise<Opened> {
    const partner = given ?? (await addPartner(service()))
    const { session } = await service().checkout.create(partner.caller, bodyFor(partner, fields))
    return { partner, session, token: session.url.split('/').at(-1) ?? '' }
  }

  /** Lets the bank report everything that it has scheduled. */
  async function settle(): Promise<void> {
    service().clock.advance(10 * stepMsDefault)
    while ((await processBankNotifications(service().settlement)) > 0);
  }

  const statusOf = async ({ partner, session }: Opened) =>
    (await service().checkout.get(partner.partnerId, session.id)).status

  const eventsOf = async ({ partner: { partnerId }, session: { reference } }: Opened) => {
    const rows = await service().db.rows<{ type: string; data: string }>(sql`
    select type, data from events.events where partner_id = ${partnerId} and reference = ${reference} order by id`)
    return rows.map(({ type, data }) => ({
      type: type.replace('partner.customer.deposit.', ''),
      data: JSON.parse(data) as Record<string, unknown>,
    }))
  }
  const namesOf = async (opened: Opened) => (await eventsOf(opened)).map(({ type }) => type)

  const casesOf = (partnerId: string) =>
    service().db.rows<{ kind: string; amount: bigint | null }>(sql`
    select kind, booked as amount from cases.cases where partner_id = ${partnerId} order by id`)

  /** The payer goes to the bank and signs in. */
  async function goToBank({ token }: Opened, from = '198.51.100.7', country = 'FR'): Promise<void> {
    assert.equal(await service().checkout.begin(token, from, country), true)
    await service().checkout.signIn(token, 'Grace Hopper')
  }

  async function pay(opened: Opened): Promise<void> {
    await goToBank(opened)
    await service().checkout.decide(opened.token, 'approved')
  }
  return { open, settle, statusOf, eventsOf, namesOf, casesOf, goToBank, pay }
}
