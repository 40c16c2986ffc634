/** The rules of wallets: which chain a wallet is on. */
import { Refusal } from '../../api/index.ts'
import type { Currency } from '../../kernel/index.ts'
import type { ChainNetwork, ChooseConnector } from '../../rails/index.ts'

/** The chain that carries the tokens of the partner. Refuses: currency_not_supported. */
export function networkFor(
  networks: readonly ChainNetwork[],
  chooseConnector: ChooseConnector,
  { partnerId, currency }: { readonly partnerId: string; readonly currency: Currency },
): ChainNetwork {
  const connector = chooseConnector({ partnerId, rail: 'Wallet', currency })
  const network = networks.find(({ id, tokens }) => id === connector && tokens[currency] !== undefined)
  if (network === undefined) throw new Refusal('currency_not_supported', `No configured chain supports ${currency}.`)
  return network
}
