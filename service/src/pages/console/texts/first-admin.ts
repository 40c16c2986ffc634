/** Texts of the page of a partner's first Admin. */
const en = {
  title: 'First Admin of {partner}',
  lead: 'The Admin does everything, and invites the others. Next you choose how you will sign in. This page closes when the first Admin has joined.',
} as const

const de: Readonly<Record<keyof typeof en, string>> = {
  title: 'Erster Admin von {partner}',
  lead: 'Der Admin darf alles und lädt die anderen ein. Im nächsten Schritt wählen Sie, wie Sie sich anmelden. Diese Seite schließt sich, sobald der erste Admin beigetreten ist.',
}

export const firstAdminTexts = { en, de } as const
