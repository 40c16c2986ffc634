/** The page of the simulated provider, on which a developer chooses the outcome. */
import { outcomes, type Session, type SimulatedOutcome } from './sessions.ts'

const english = {
  title: 'Simulated identity check',
  intro: 'This page stands for that of an identity provider. No document is asked for: choose what the provider finds.',
  asked: 'To be verified',
  compared: 'Values to compare',
  none: 'The customer has none of these fields yet.',
  done: 'The provider has decided. You can close this page.',
  processing: 'The provider is deciding. Choose what it finds.',
  back: 'Back to the application',
  unknown: 'This identity check does not exist.',
  choices: {
    approve: 'Approve: everything matches',
    expiring: 'Approve, with a document that expires today',
    processing: 'Let the provider decide later',
    mismatch: 'Decline: the name is another one',
    forged: 'Decline: the document is forged',
    unreadable: 'Decline: the document cannot be read',
    leave: 'Leave without finishing',
  } satisfies Record<SimulatedOutcome, string>,
  states: {
    Open: 'Open',
    Processing: 'Processing',
    Approved: 'Approved',
    Declined: 'Declined',
    Lapsed: 'Not finished',
  } satisfies Record<Session['status'], string>,
}
type Texts = typeof english

const german: Texts = {
  title: 'Simulierte Identitätsprüfung',
  intro:
    'Diese Seite steht für die eines Anbieters. Ein Ausweis wird nicht verlangt: Wählen Sie, was der Anbieter feststellt.',
  asked: 'Zu prüfen',
  compared: 'Zu vergleichende Werte',
  none: 'Der Kunde hat noch keines dieser Felder.',
  done: 'Der Anbieter hat entschieden. Sie können diese Seite schließen.',
  processing: 'Der Anbieter entscheidet noch. Wählen Sie, was er feststellt.',
  back: 'Zurück zur Anwendung',
  unknown: 'Diese Identitätsprüfung gibt es nicht.',
  choices: {
    approve: 'Annehmen: alles stimmt überein',
    expiring: 'Annehmen, mit einem Ausweis, der heute abläuft',
    processing: 'Den Anbieter später entscheiden lassen',
    mismatch: 'Ablehnen: der Name ist ein anderer',
    forged: 'Ablehnen: der Ausweis ist gefälscht',
    unreadable: 'Ablehnen: der Ausweis ist nicht lesbar',
    leave: 'Abbrechen',
  },
  states: {
    Open: 'Offen',
    Processing: 'In Bearbeitung',
    Approved: 'Angenommen',
    Declined: 'Abgelehnt',
    Lapsed: 'Nicht beendet',
  },
}

export const pageStyle = `:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 38rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem }
h2 { font-size: 1.1rem }
dt { font-weight: 600 }
dd { margin: 0 0 .5rem; overflow-wrap: anywhere }
button { display: block; width: 100%; margin: .5rem 0; padding: .75rem; font: inherit; text-align: left }
.note { border-left: .25rem solid; padding-left: .75rem }
`

const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const textsFor = (acceptLanguage: string | undefined) =>
  /^\s*de\b/i.test(acceptLanguage ?? '') ? { language: 'de', t: german } : { language: 'en', t: english }

/** Undefined: there is no such session. `style`: the address of the style sheet. */
export function simulatorPage(session: Session | undefined, acceptLanguage: string | undefined, style: string): string {
  const { language, t } = textsFor(acceptLanguage)
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escape(t.title)}</title>
<link rel="stylesheet" href="${escape(style)}"></head><body><main><h1>${escape(t.title)}</h1>
${session === undefined ? `<p>${escape(t.unknown)}</p>` : content(session, t)}</main></body></html>`
}

function content({ kinds, subject, status, returnUrl }: Session, t: Texts): string {
  const fields = Object.entries(subject)
  const compared =
    fields.length === 0
      ? `<p>${escape(t.none)}</p>`
      : `<dl>${fields.map(([field, value]) => `<dt>${escape(field)}</dt><dd>${escape(value)}</dd>`).join('')}</dl>`
  return `<p class="note">${escape(t.intro)}</p>
<p role="status"><strong>${escape(t.states[status])}</strong></p>
<h2>${escape(t.asked)}</h2><p>${kinds.map(escape).join(', ')}</p>
<h2>${escape(t.compared)}</h2>${compared}${choices(status, t)}
${returnUrl === null ? '' : `<p><a rel="noreferrer" href="${escape(returnUrl)}">${escape(t.back)}</a></p>`}`
}

function choices(status: Session['status'], t: Texts): string {
  if (status !== 'Open' && status !== 'Processing') return `<p>${escape(t.done)}</p>`
  const offered = outcomes.filter((outcome) => outcome !== 'processing' || status === 'Open')
  const buttons = offered.map(
    (outcome) => `<button name="outcome" value="${outcome}">${escape(t.choices[outcome])}</button>`,
  )
  return `${status === 'Processing' ? `<p>${escape(t.processing)}</p>` : ''}<form method="post">${buttons.join('')}</form>`
}
