/** `--kill`: kills the service with SIGKILL at chosen moments and restarts it on the same data. */
import type { EventName } from './causes.ts'
import { amountText } from './money.ts'
import { makePayout, type Payment } from './payments.ts'
import type { Print } from './print.ts'
import type { Service } from './service.ts'
import type { Context, Parties } from './setup.ts'
import type { Until } from './until.ts'

/** Kills and restarts the service once `condition` holds. */
export type Kill = (title: string, condition: () => boolean) => Promise<void>

export function createKill(service: Service, print: Print, until: Until): Kill {
  let count = 0
  return async (title, condition) => {
    await until(title, condition)
    await service.kill()
    count += 1
    print('SIGKILL', `number ${count}, when ${title}`)
    await service.start()
    print('', 'restarted on the same data')
  }
}

const payoutsPerRound = 5

type Moment = { readonly title: string; readonly holds: (references: readonly string[]) => boolean }

/** Pays in rounds, and kills the service in each round at another moment of the payouts' lifecycle. */
export async function payAndKill(context: Context, parties: Parties, kill: Kill): Promise<readonly Payment[]> {
  const { receiver, print } = context
  const received = (name: EventName, references: readonly string[]) =>
    references.some((reference) => receiver.eventsOf(reference).some(({ data }) => data.eventType === name))
  const moments: readonly Moment[] = [
    { title: 'the first payout is accepted', holds: (made) => made.length > 0 },
    { title: 'every payout is accepted', holds: (made) => made.length === payoutsPerRound },
    {
      title: 'the first payout is being submitted to the bank',
      holds: (made) => received('partner.customer.withdrawal.accepted', made),
    },
    {
      title: 'the first payout is sent',
      holds: (made) => received('partner.customer.withdrawal.sent', made),
    },
    { title: 'the first payout is settled', holds: (made) => received('transaction.status.changed', made) },
  ]
  const payments: Payment[] = []
  for (const [round, { title, holds }] of moments.entries()) {
    const made: string[] = []
    print('payout', `round ${round + 1}: ${payoutsPerRound} concurrent payouts`)
    const requests = Array.from({ length: payoutsPerRound }, async (_, index) => {
      const amount = amountText(BigInt(100 * (round + 1) + index + 1))
      const plan = { what: `round ${round + 1}`, to: 'landlord', amount, currency: 'EUR' } as const
      const payment = await makePayout(context, parties, { ...plan, ending: 'customer payout settled' })
      made.push(payment.reference)
      return payment
    })
    const answered = Promise.all(requests)
    // A failure is reported below, after the kill.
    answered.catch(() => undefined)
    await kill(title, () => holds(made))
    // The client repeats a request without an answer under the same idempotency key.
    payments.push(...(await answered))
  }
  return payments
}
