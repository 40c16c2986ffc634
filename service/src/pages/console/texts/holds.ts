/** The words of what a payment waits for. The English reasons are those of the API. */
import { type Explained, told } from '../../../transactions/index.ts'
import type { ConsoleLanguage } from '../language.ts'

type Kind = Explained['kind']
type Words = { readonly reason: string; readonly evidence: readonly string[] }
type HoldTexts = {
  readonly title: string
  readonly actor: string
  readonly by: string
  readonly unknown: string
  readonly evidence: string
  readonly actors: Readonly<Record<Explained['actor'], string>>
  readonly kinds: Readonly<Record<Kind, Words>>
}

const german: Readonly<Record<Kind, readonly [reason: string, ...evidence: string[]]>> = {
  Approval: [
    'Eine zweite Person Ihres Teams muss die Auszahlung freigeben.',
    'Für die freigebende Person: der Beleg, der bezahlt wird, etwa eine Rechnung.',
  ],
  OperatorCheck: [
    'Der Betreiber prüft die Zahlung.',
    'Wer zahlt, wer das Geld erhält und wofür: eine Rechnung oder ein Vertrag.',
  ],
  Sending: ['Die Zahlung ist angenommen und wird als Nächstes gesendet.'],
  BankWindow: ['Die Bank nimmt die Zahlung an, wenn sie wieder geöffnet ist.'],
  BankAnswer: ['Die Bank hat nicht geantwortet. Sie wird erneut gefragt.'],
  BankExecution: ['Die Bank hat die Zahlung und führt sie aus.'],
  PayeeCheck: [
    'Die Bank des Empfängers kennt das Konto unter einem anderen Namen. Der Betreiber und seine Bank entscheiden, ob die Zahlung abgeht.',
    'Der Name des Kontoinhabers, wie ihn der Empfänger bestätigt.',
  ],
  PayeeName: [
    'Eine frühere Prüfung fand für das Konto des Empfängers einen anderen Namen.',
    'Der Name des Kontoinhabers, wie ihn der Empfänger bestätigt.',
  ],
  Recall: [
    'Die Bank des Empfängers ist gebeten, das Geld zurückzusenden.',
    'Was den Grund des Rückrufs belegt, etwa eine Anzeige bei der Polizei.',
  ],
  Payer: ['Der Zahler hat nicht gezahlt, oder nicht alles.'],
  PayerData: [
    'Die Bank des Zahlers hat nicht gesagt, wer zahlt. Sie wird gefragt.',
    'Name, Konto und Anschrift des Zahlers, die seine Bank bestätigt.',
  ],
  WalletOwnership: [
    'Es ist nicht bekannt, wer über die Wallet verfügt.',
    'Ein Nachweis, den die Wallet unterschreibt, oder der Name des Anbieters, der die Wallet führt.',
  ],
  Booking: ['Die Bank hat das Geld angekündigt und noch nicht gebucht.'],
  OperatorCase: [
    'Die Bank und die Zahlung stimmen nicht überein. Der Betreiber entscheidet, wohin das Geld gehört.',
    'Wer wann wie viel und wofür gezahlt hat.',
  ],
  AccountBlocked: [
    'Das Konto oder das Guthaben ist gesperrt oder geschlossen.',
    'Was der Betreiber wegen der Sperre verlangt hat.',
  ],
  CustomerVerification: [
    'Die Prüfung des Kunden lässt es nicht zu.',
    'Die KYC-Daten und Nachweise, die dem Kunden fehlen: siehe, was er darf.',
  ],
  CoolingOff: ['Der Empfänger ist neu oder geändert und kann noch nicht bezahlt werden.'],
  Limit: ['Der Betrag liegt über dem, was ein Limit des Betreibers übrig lässt.'],
  Funds: ['Das Guthaben deckt Betrag und Gebühr nicht.'],
  SegregatedFunds: ['Das Guthaben ist getrennt: Das Geld dieses Zahlers deckt Betrag und Gebühr nicht.'],
  Country: ['Der Betreiber nimmt keine Zahlungen dieses Landes an.'],
}

const wordsOf = <Row>(rows: Readonly<Record<Kind, Row>>, write: (row: Row) => Words) =>
  Object.fromEntries(Object.entries<Row>(rows).map(([kind, row]) => [kind, write(row)])) as Record<Kind, Words>

export const holdTexts: Readonly<Record<ConsoleLanguage, HoldTexts>> = {
  en: {
    title: 'What it waits for',
    actor: 'Acts next',
    by: 'Until',
    unknown: 'not known',
    evidence: 'What helps',
    actors: {
      You: 'You',
      Approver: 'Another person of your team',
      Operator: 'The operator',
      Bank: 'The bank',
      PayeeBank: "The payee's bank",
      Payer: 'The payer',
      Time: 'Nobody has to act',
    },
    kinds: wordsOf(told, ({ reason, evidence }) => ({ reason, evidence })),
  },
  de: {
    title: 'Worauf sie wartet',
    actor: 'Als Nächstes handelt',
    by: 'Bis',
    unknown: 'nicht bekannt',
    evidence: 'Was hilft',
    actors: {
      You: 'Sie',
      Approver: 'Eine andere Person Ihres Teams',
      Operator: 'Der Betreiber',
      Bank: 'Die Bank',
      PayeeBank: 'Die Bank des Empfängers',
      Payer: 'Der Zahler',
      Time: 'Niemand muss handeln',
    },
    kinds: wordsOf(german, ([reason, ...evidence]) => ({ reason, evidence })),
  },
}
