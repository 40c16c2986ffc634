/** The command that shows the operator's position from exchanges. */
import { amountText, type Currency, currencies, type Minor } from '../kernel/index.ts'
import { midRateOf, rateText, type Sheet } from '../rates/index.ts'
import type { CommandsOf } from './context.ts'

export const fxCommands: CommandsOf<`fx ${string}`> = {
  /** The open position in each currency over all partners, valued in euros at the newest mid rates, however old they are. */
  'fx position': async ({ service: { ledger, rates }, db }) => {
    const [rows, sheet] = await Promise.all([ledger.positions(db), rates.newest(db)])
    const positions = rows.map(({ currency, posted, reserved }) => {
      const valued = sheet && valueOf(sheet, currency, posted)
      return {
        currency,
        position: amountText(posted, currency),
        reserved: amountText(reserved, currency),
        midRate: valued?.midRate ?? null,
        valueEur: valued ? amountText(valued.minor, 'EUR') : null,
        minor: valued?.minor,
      }
    })
    const isComplete = positions.every(({ minor }) => minor !== undefined)
    const total = positions.reduce((sum, { minor = 0n }) => sum + minor, 0n)
    return {
      source: sheet?.source ?? null,
      asOf: sheet?.asOf.toISOString() ?? null,
      positions: positions.map(({ minor: _minor, ...shown }) => shown),
      totalEur: isComplete ? amountText(total, 'EUR') : null,
    }
  },
}

/** Value in cents, rounded towards zero. Undefined: the sheet has no rate of the currency. */
function valueOf(
  { quotes }: Sheet,
  currency: Currency,
  minor: Minor,
): { readonly midRate: string; readonly minor: Minor } | undefined {
  if (currency === 'EUR') return { midRate: '1', minor }
  const rate = midRateOf(quotes, 'EUR', currency)
  if (rate === undefined) return undefined
  const over = minor * 10n ** BigInt(rate.scale + currencies.EUR.digits)
  return { midRate: rateText(rate), minor: over / (rate.digits * 10n ** BigInt(currencies[currency].digits)) }
}
