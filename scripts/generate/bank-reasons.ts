/** The page of reason codes of banks: what each code of a bank means for a partner, from the table of the service. */
import { explainReason, bankReasons, type StatusMeaning, bankStatuses } from '../../service/src/iso20022/index.ts'

const duplicates = Object.keys(bankReasons).filter((code) => explainReason(code).isDuplicate)

const header = `# Reason codes of banks

Banks say by codes of ISO 20022 why they refuse, return or do not give back a payment. The service maps each code to an
\`errorKey\` and a sentence, which partners read in \`details\`. The code itself is in \`reasonCode\`. A refusal of SEPA Instant that is
marked in the last column says only that the instant way does not work: the connector sends the payment again as a SEPA Credit
Transfer. A code that is not listed, or a bank's own, is a \`BankRejection\`.

${duplicates.map((code) => `\`${code}\``).join(', ')} say that the bank has the payment already. They fail no payment, because the bank may execute
what it has: the payment waits for the booking, with a case if the bank has not accepted it.

This page is generated from \`service/src/iso20022/reasons.ts\`.

| code | \`errorKey\` | sentence | again as a credit transfer |
|---|---|---|---|
`

export function bankReasonsPage(): string {
  const rows = Object.keys(bankReasons)
    .toSorted()
    .map((code) => {
      const { errorKey, details, retryAsCreditTransfer } = explainReason(code)
      return `| \`${code}\` | \`${errorKey}\` | ${details} | ${retryAsCreditTransfer ? 'yes' : ''} |`
    })
  return `${header}${rows.join('\n')}\n${statusesSection()}`
}

const effects = {
  accepted: 'the bank has the payment',
  settled: 'the payout is `Completed`',
  rejected: 'the payout is `Failed`',
  blocked: 'nothing moves; a case',
  part: 'nothing, for payments that are not named',
  checked: 'a step in the timeline; a case if the name does not match',
} as const satisfies Record<StatusMeaning, string>

const statusesSection = (): string => `
## Statuses

Statuses of \`pain.002\`, versions 03 to 14. A status that is not listed changes nothing and opens a case.

| status | meaning | final | effect |
|---|---|---|---|
${Object.entries(bankStatuses)
  .map(
    ([code, { text, isFinal, meaning }]) => `| \`${code}\` | ${text} | ${isFinal ? 'yes' : ''} | ${effects[meaning]} |`,
  )
  .join('\n')}
`
