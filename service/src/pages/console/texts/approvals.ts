/** Texts of the page that approves a payout. */
const en = {
  title: 'Approve payout',
  lead: '{name} asks for this payout. Compare it with the invoice or the order before you approve it.',
  makerLeft: '{name} may no longer make payouts here. Ask your team whether it is still wanted before you approve it.',
  amount: 'Amount',
  counted: 'Counts as',
  countedText: '{amount}, by the rate {rate} of {day}',
  payee: 'Payee',
  account: 'Account',
  reference: 'Reference',
  serviceReference: 'Our reference',
  validUntil: 'To be approved until',
  payeeMismatch:
    'A check found that the name of this payee is not that of the account. Ask the payee for the right name before you approve it.',
  passkeyTitle: 'With your passkey',
  passkeyText:
    'Your passkey signs this amount and this payee. The signature is kept in the audit log, where it can be verified.',
  codeTitle: 'With your authenticator app',
  codeText: 'The code approves this amount and this payee, once.',
  approve: 'Approve {amount}',
  passkeyOnly:
    'This payout needs a passkey, and you sign in with a password. Add a passkey on the page “Sign-in”, and come back.',
  rejectTitle: 'Reject instead',
  reject: 'Reject payout',
  reason: 'Reason',
  reasonHelp: 'For your own records. 1 to 140 characters.',
  reasonWrong: 'Enter a reason of 1 to 140 characters.',
  refused:
    'The payout was not approved: the answer was wrong, or came later than two minutes. Look at the payout again, and repeat it.',
  beyond:
    'One person approves at most {most} on a day, and you have {left} left. Another person must approve this payout.',
  beyondUntil: 'Your sum of the day begins again at',
  beyondNow:
    'The payout was not approved: it is beyond what you may approve on this day. Another person must approve it.',
  creator: 'You asked for this payout yourself. Another person must approve it.',
  notWaiting: 'This payout no longer waits for an approval.',
  noPermission: 'Your role may not approve payouts. An Admin or an Operator can.',
  back: 'Back to the payout',
} as const

type ApprovalTexts = Readonly<Record<keyof typeof en, string>>

const de: ApprovalTexts = {
  title: 'Auszahlung freigeben',
  lead: '{name} bittet um diese Auszahlung. Vergleichen Sie sie mit der Rechnung oder dem Auftrag, bevor Sie sie freigeben.',
  makerLeft:
    '{name} darf hier keine Auszahlungen mehr veranlassen. Klären Sie vor der Freigabe, ob jemand sie noch will.',
  amount: 'Betrag',
  counted: 'Zählt als',
  countedText: '{amount}, zum Kurs {rate} vom {day}',
  payee: 'Empfänger',
  account: 'Konto',
  reference: 'Referenz',
  serviceReference: 'Unsere Referenz',
  validUntil: 'Freigabe möglich bis',
  payeeMismatch:
    'Eine Prüfung ergab, dass das Konto nicht auf den Namen dieses Empfängers lautet. Fragen Sie ihn nach dem richtigen Namen, bevor Sie freigeben.',
  passkeyTitle: 'Mit Ihrem Passkey',
  passkeyText:
    'Ihr Passkey unterschreibt diesen Betrag und diesen Empfänger. Die Unterschrift bleibt im Prüfprotokoll, wo man sie nachprüfen kann.',
  codeTitle: 'Mit Ihrer Authenticator-App',
  codeText: 'Der Code gibt diesen Betrag an diesen Empfänger frei, ein einziges Mal.',
  approve: '{amount} freigeben',
  passkeyOnly:
    'Diese Auszahlung braucht einen Passkey, und Sie melden sich mit einem Passwort an. Fügen Sie auf der Seite „Anmeldung“ einen Passkey hinzu, und kommen Sie zurück.',
  rejectTitle: 'Stattdessen ablehnen',
  reject: 'Auszahlung ablehnen',
  reason: 'Grund',
  reasonHelp: 'Für Ihre eigenen Unterlagen. 1 bis 140 Zeichen.',
  reasonWrong: 'Geben Sie einen Grund mit 1 bis 140 Zeichen ein.',
  refused:
    'Die Auszahlung wurde nicht freigegeben: Die Antwort war falsch oder kam nach mehr als zwei Minuten. Sehen Sie sich die Auszahlung noch einmal an, und wiederholen Sie die Freigabe.',
  beyond:
    'Eine Person gibt am Tag höchstens {most} frei, und Ihnen bleiben {left}. Eine andere Person gibt diese Auszahlung frei.',
  beyondUntil: 'Ihre Tagessumme beginnt neu um',
  beyondNow:
    'Die Auszahlung wurde nicht freigegeben: Sie liegt über dem, was Sie an diesem Tag freigeben dürfen. Eine andere Person gibt sie frei.',
  creator: 'Sie haben diese Auszahlung selbst veranlasst. Eine andere Person gibt sie frei.',
  notWaiting: 'Diese Auszahlung wartet nicht mehr auf eine Freigabe.',
  noPermission: 'Ihre Rolle darf keine Auszahlungen freigeben. Ein Admin oder ein Operator kann es.',
  back: 'Zurück zur Auszahlung',
}

export const approvalTexts = { en, de } as const

export type ApprovalWords = ApprovalTexts

const bulkEn = {
  ...en,
  title: 'Approve a bulk payout',
  lead: '{name} asks for these payouts. Compare their number and their sum with the file before you approve them.',
  payouts: 'Payouts',
  largest: 'The largest payouts',
  all: 'All payouts of the bulk',
  passkeyText:
    'Your passkey signs the number, the sum and each payee of these payouts. The signature is kept in the audit log, where it can be verified for each one.',
  codeText: 'The code approves these payouts, once.',
  approve: 'Approve {count} payouts, {amount}',
  passkeyOnly:
    'These payouts need a passkey, and you sign in with a password. Add a passkey on the page “Sign-in”, and come back.',
  reject: 'Reject all',
  refused:
    'Nothing was approved: the answer was wrong, or came later than two minutes. Look at the payouts again, and repeat it.',
  beyond:
    'One person approves at most {most} on a day, and you have {left} left. Another person must approve these payouts.',
  beyondNow:
    'Nothing was approved: the sum is beyond what you may approve on this day. Another person must approve the payouts.',
  creator: 'You asked for these payouts yourself. Another person must approve them.',
  notWaiting: 'Other payouts wait now than those that you saw, or none does. Open the page again.',
  back: 'Back to the bulk',
} as const

const bulkDe: Readonly<Record<keyof typeof bulkEn, string>> = {
  ...de,
  title: 'Sammelauszahlung freigeben',
  lead: '{name} bittet um diese Auszahlungen. Vergleichen Sie Anzahl und Summe mit der Datei, bevor Sie sie freigeben.',
  payouts: 'Auszahlungen',
  largest: 'Die größten Auszahlungen',
  all: 'Alle Auszahlungen',
  passkeyText:
    'Ihr Passkey unterschreibt die Anzahl, die Summe und jeden Empfänger dieser Auszahlungen. Die Unterschrift bleibt im Prüfprotokoll, wo man sie für jede nachprüfen kann.',
  codeText: 'Der Code gibt diese Auszahlungen frei, ein einziges Mal.',
  approve: '{count} Auszahlungen freigeben, {amount}',
  passkeyOnly:
    'Diese Auszahlungen brauchen einen Passkey, und Sie melden sich mit einem Passwort an. Fügen Sie auf der Seite „Anmeldung“ einen Passkey hinzu, und kommen Sie zurück.',
  reject: 'Alle ablehnen',
  refused:
    'Nichts wurde freigegeben: Die Antwort war falsch oder kam nach mehr als zwei Minuten. Sehen Sie sich die Auszahlungen noch einmal an, und wiederholen Sie die Freigabe.',
  beyond:
    'Eine Person gibt am Tag höchstens {most} frei, und Ihnen bleiben {left}. Eine andere Person gibt diese Auszahlungen frei.',
  beyondNow:
    'Nichts wurde freigegeben: Die Summe liegt über dem, was Sie an diesem Tag freigeben dürfen. Eine andere Person gibt die Auszahlungen frei.',
  creator: 'Sie haben diese Auszahlungen selbst veranlasst. Eine andere Person gibt sie frei.',
  notWaiting:
    'Es warten jetzt andere Auszahlungen als die, die Sie gesehen haben, oder keine. Öffnen Sie die Seite neu.',
  back: 'Zurück zur Sammelauszahlung',
}

export const bulkApprovalTexts = { en: bulkEn, de: bulkDe } as const
