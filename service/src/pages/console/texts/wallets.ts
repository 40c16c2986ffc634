/** Texts of the pages of wallets. */
import type { Words } from './payments-en.ts'

const en = {
  lead: 'Addresses on which you and your customers receive tokens. The newest comes first.',
  empty: 'No wallet yet',
  emptyText: 'A wallet has an address that takes one token on one chain. Open the first here, or by the API:',
  call: 'API call that creates a wallet',
  newWallet: 'New wallet',
  newText: 'An owner has one wallet for each token. If it exists already, you get the same wallet.',
  open: 'Open wallet',
  wallet: 'Wallet for {currency}',
  token: 'Token',
  chain: 'Chain',
  chainId: 'Chain id {id}',
  address: 'Address',
  received: 'Received',
  owner: 'Owner',
  own: 'Your own',
  customerHelp: 'The id of a customer, or its id at the service. Empty: the wallet is your own.',
  customerUnknown: 'There is no customer with this id.',
  created: 'The wallet is ready. Give its address to the payer.',
  addressTitle: 'Where the payer sends the tokens',
  warning:
    'Send only {currency} on the chain {network} (chain id {id}) to this address. Another token, or {currency} on another chain, is not credited and can be lost.',
  compare: 'Copy the address, and compare its first and last characters. With a wrong one the tokens are lost.',
  deposits: 'Deposits in {currency}',
  simulate: 'Simulate a deposit',
  refusal: {
    currency_not_supported: 'No chain of the service carries this token. Choose another one, or ask our support.',
  },
} as const

const de: Words<typeof en> = {
  lead: 'Adressen, auf denen Sie und Ihre Kunden Token empfangen. Die neueste steht oben.',
  empty: 'Noch keine Wallet',
  emptyText:
    'Eine Wallet hat eine Adresse, die einen Token auf einer Blockchain annimmt. Öffnen Sie die erste hier, oder über die API:',
  call: 'API-Aufruf, der eine Wallet anlegt',
  newWallet: 'Neue Wallet',
  newText: 'Ein Inhaber hat für jeden Token eine Wallet. Gibt es sie schon, bekommen Sie dieselbe.',
  open: 'Wallet öffnen',
  wallet: 'Wallet für {currency}',
  token: 'Token',
  chain: 'Blockchain',
  chainId: 'Chain-ID {id}',
  address: 'Adresse',
  received: 'Empfangen',
  owner: 'Inhaber',
  own: 'Ihre eigene',
  customerHelp: 'Die Kennung eines Kunden, oder seine Kennung beim Dienst. Leer: Es ist Ihre eigene Wallet.',
  customerUnknown: 'Es gibt keinen Kunden mit dieser Kennung.',
  created: 'Die Wallet ist bereit. Geben Sie ihre Adresse an den Zahler weiter.',
  addressTitle: 'Wohin der Zahler die Token sendet',
  warning:
    'Senden Sie an diese Adresse nur {currency} auf der Blockchain {network} (Chain-ID {id}). Ein anderer Token, oder {currency} auf einer anderen Blockchain, wird nicht gutgeschrieben und kann verloren sein.',
  compare:
    'Kopieren Sie die Adresse, und vergleichen Sie ihre ersten und letzten Zeichen. Mit einem falschen sind die Token verloren.',
  deposits: 'Einzahlungen in {currency}',
  simulate: 'Einzahlung simulieren',
  refusal: {
    currency_not_supported:
      'Keine Blockchain des Dienstes trägt diesen Token. Wählen Sie einen anderen, oder fragen Sie unseren Support.',
  },
}

export const walletTexts = { en, de } as const
