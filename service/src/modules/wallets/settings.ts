/** The settings of wallets. */
import { type Minor, type Mode, refuseSetting, type Settings } from '../../kernel/index.ts'

/** Regulation (EU) 2023/1113, articles 14(5) and 16(2). */
const eurosOfRegulation = '1000'
const euros = /^(\d{1,9})(?:\.(\d{1,2}))?$/

function readProofAbove(value: string | undefined, mode: Mode): string {
  const text = value ?? (mode === 'sandbox' ? 'none' : eurosOfRegulation)
  return text === 'none' || euros.test(text)
    ? text
    : refuseSetting('must be none, or an amount of euros, such as 1000 or 999.99')
}

/** WALLET_PROOF_ABOVE in minor units of the euro. Undefined: payments need no proof. */
export function proofAboveOf(text: string): Minor | undefined {
  const [, whole, cents = ''] = euros.exec(text) ?? []
  return whole === undefined ? undefined : BigInt(whole + cents.padEnd(2, '0'))
}

export const walletSettings = {
  WALLET_PROOF_ABOVE: {
    default: 'none in a sandbox; 1000 in production',
    description:
      'Euros above which a payment of tokens to a wallet, or from one, needs a proof of who controls the wallet, or the provider that keeps it (Regulation (EU) 2023/1113, Art. 14(5) and 16(2)). A token counts by the rate of the day; without one every payment needs it',
    read: readProofAbove,
  },
} as const satisfies Settings
