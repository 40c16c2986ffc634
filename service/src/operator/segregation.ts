/**
 * Commands for whose money pays: a balance is pooled, or each customer and the partner have a part of their own. The change is
 * planned (`plan`), made possible (`cover`), and carried out (`set`).
 */
import { rawNumber } from '@partner-payments/wire'
import { ConfigError } from '../app/config.ts'
import { amountText, type Currency } from '../kernel/index.ts'
import type { ShortParty } from '../ledger/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { CommandsOf, Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { onConnection } from './ledger.ts'
import { decided } from './limits.ts'

/** Short parties that an answer names; the counts are of all. */
const namedMax = 100

export const segregationCommands: CommandsOf<`segregation ${string}`> = {
  'segregation list': async ({ service: { ledger }, db }, { partner }) =>
    (await ledger.modes(db, partner)).map(({ currency, segregated, own }) => ({
      currency,
      mode: segregated ? 'segregated' : 'pooled',
      ...(own === undefined
        ? {}
        : { own: amountText(own.posted, currency), ownReserved: amountText(own.reserved, currency) }),
    })),

  /** Says what prevents a pooled balance from being segregated. Writes nothing. */
  'segregation plan': (context, options) => onConnection(context, (db) => plan(context, db, options)),

  /** Moves own money of the partner to the customers that have paid out more than they paid in. */
  'segregation cover': (context, { partner: partnerId, currency }, call) =>
    onConnection(context, (db) =>
      decided({ ...context, db }, call, async (tx) => {
        const { accounts, ledger } = context.service
        const { short, own } = await ledger.shortParties(tx, partnerId, currency)
        const customers = short.filter(({ partyId }) => partyId !== partnerId)
        const total = missingOf(customers)
        if (total > own)
          throw new ConfigError(
            `operator: customers miss ${amountText(total, currency)} ${currency}, and the partner has ${amountText(own, currency)} ${currency} of its own`,
          )
        const covered = []
        for (const { partyId: toCustomerId, missing } of customers) {
          const amount = rawNumber(amountText(missing, currency))
          const { inwardReference } = await accounts.transfer(
            partnerId,
            { amount, currency, toCustomerId },
            undefined,
            tx,
          )
          if (covered.length < namedMax)
            covered.push({
              customerId: toCustomerId,
              amount: amountText(missing, currency),
              reference: inwardReference,
            })
        }
        return { currency, customers: customers.length, total: amountText(total, currency), covered }
      }),
    ),

  /** Changes the mode of a balance. Payments continue; those that were judged by the other mode are judged again. */
  'segregation set': (context, { partner: partnerId, currency, mode }, call) =>
    onConnection(context, async (db) => {
      const { ledger } = context.service
      const changed = await decided({ ...context, db }, call, async (tx) => {
        if (mode === 'pooled') await ledger.pool(tx, partnerId, currency)
        else {
          const short = await ledger.segregate(tx, partnerId, currency)
          if (short.length > 0) throw new ConfigError(shortMessage(short, currency))
        }
        return { currency, mode }
      })
      // Without use from here on. A command that is killed before leaves them to the next one.
      if (mode === 'pooled') await db.transaction((tx) => ledger.clearParties(tx, partnerId, currency))
      return changed
    }),
}

const missingOf = (short: readonly ShortParty[]) => short.reduce((sum, { missing }) => sum + missing, 0n)

const shortMessage = (short: readonly ShortParty[], currency: Currency) =>
  `operator: ${short.length} parties have less than nothing, ${amountText(missingOf(short), currency)} ${currency} in all: ` +
  '`operator segregation plan` names them'

async function plan(
  { service: { access, ledger } }: Context,
  tx: Tx,
  { partner: partnerId, currency }: OptionsOf<'segregation plan'>,
) {
  if ((await access.partnerName(tx, partnerId)) === '') throw new ConfigError('operator: No such partner.')
  const { short, own } = await ledger.shortParties(tx, partnerId, currency)
  const customers = short.filter(({ partyId }) => partyId !== partnerId)
  const total = missingOf(customers)
  return {
    currency,
    ready: short.length === 0,
    own: amountText(own, currency),
    shortCustomers: customers.length,
    missing: amountText(total, currency),
    ownCovers: total <= own,
    customers: customers.slice(0, namedMax).map(({ partyId, posted, reserved, missing }) => ({
      customerId: partyId,
      posted: amountText(posted, currency),
      reserved: amountText(reserved, currency),
      missing: amountText(missing, currency),
    })),
  }
}
