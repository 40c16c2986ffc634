/** `--kill`: the service dies by SIGKILL at chosen moments and starts again on the same data. */
import { amountText } from './money.ts'
import { makePayout, type Payment } from './payments.ts'
import type { Print } from './print.ts'
import type { Service } from './service.ts'
import type { Cast, Stage } from './setup.ts'
import type { Until } from './until.ts'

/** Kills once `moment` is there. */
export type Strike = (title: string, moment: () => boolean) => Promise<void>

export function createStrike(service: Service, print: Print, until: Until): Strike {
  let count = 0
  return async (title, moment) => {
    await until(title, moment)
    await service.kill()
    count += 1
    print('SIGKILL', `number ${count}, when ${title}`)
    await service.start()
    print('', 'started again on the same data')
  }
}

const payoutsPerRound = 5

/** Rounds of payouts, each with a death at another moment of their way. */
export async function fire(stage: Stage, cast: Cast, strike: Strike): Promise<readonly Payment[]> {
  const { receiver, print } = stage
  const saw = (names: readonly string[], references: readonly string[]) =>
    references.some((reference) => receiver.eventsOf(reference).some(({ data }) => names.includes(data.eventType)))
  const moments: readonly (readonly [string, (made: readonly string[]) => boolean])[] = [
    ['the first payout is accepted', (made) => made.length > 0],
    ['every payout is accepted', (made) => made.length === payoutsPerRound],
    ['the bank is being told', (made) => saw(['partner.customer.withdrawal.accepted'], made)],
    ['the first payout is sent', (made) => saw(['partner.customer.withdrawal.sent'], made)],
    ['the first payout is settled', (made) => saw(['transaction.status.changed'], made)],
  ]
  const payments: Payment[] = []
  for (const [round, [title, moment]] of moments.entries()) {
    const made: string[] = []
    print('payout', `round ${round + 1}: ${payoutsPerRound} at once`)
    const requests = Array.from({ length: payoutsPerRound }, async (_, index) => {
      const amount = amountText(BigInt(100 * (round + 1) + index + 1))
      const plan = { what: `round ${round + 1}`, to: 'landlord', amount, currency: 'EUR' } as const
      const payment = await makePayout(stage, cast, { ...plan, ending: 'customer payout settled' })
      made.push(payment.reference)
      return payment
    })
    const answered = Promise.all(requests)
    // One that fails is heard of below, after the strike.
    answered.catch(() => undefined)
    await strike(title, () => moment(made))
    // A request whose answer was lost is repeated by the client, under the same idempotency key.
    payments.push(...(await answered))
  }
  return payments
}
