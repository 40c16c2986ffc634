/** The texts of single sign-on, for teams and for staff. */
import type { SignOnFailure } from '../../../sign-in/index.ts'
import type { ConsoleLanguage } from '../language.ts'

const settingWords = [
  'lead',
  'none',
  'on',
  'waits',
  'issuer',
  'issuerHelp',
  'client',
  'secret',
  'secretHelp',
  'secretKept',
  'domain',
  'domainHelp',
  'redirect',
  'record',
  'recordName',
  'recordValue',
  'prove',
  'proveText',
  'roleClaim',
  'roleClaimHelp',
  'valuesOf',
  'valuesHelp',
  'required',
  'requiredText',
  'save',
  'remove',
  'removeText',
  'saved',
  'proved',
  'removed',
  'provider',
  'readOnly',
  'issuerWrong',
  'domainWrong',
  'unproved',
  'secretMissing',
  'rolesWrong',
  'lastAdmin',
  'notRequired',
  'optional',
  'whether',
] as const

type SignOnTexts = {
  readonly title: string
  readonly text: string
  readonly signIn: string
  readonly join: string
  readonly leads: string
  readonly leadsOn: string
  readonly leadsText: string
  readonly failed: string
  readonly again: string
  readonly connected: string
  readonly connectText: string
  readonly connect: string
  readonly connectedNow: string
  readonly failures: Readonly<Record<SignOnFailure, string>>
  readonly settings: Readonly<Record<(typeof settingWords)[number], string>>
}

const en: SignOnTexts = {
  title: 'Single sign-on',
  text: 'You sign in at the provider of your organisation, and come back here.',
  signIn: 'Continue with single sign-on',
  join: 'Join with single sign-on',
  leads: 'One moment',
  leadsText: 'If nothing happens, continue with the link.',
  leadsOn: 'Continue',
  failed: 'Single sign-on failed',
  again: 'To the sign-in',
  connected: 'Your account is connected with the provider since {time}.',
  connectText: 'Connect your account with the provider of your organisation, to sign in there from now on.',
  connect: 'Connect single sign-on',
  connectedNow: 'Single sign-on is connected.',
  failures: {
    expired: 'This sign-in took too long, was finished before, or began in another browser. Begin again.',
    refused:
      'The provider refused the sign-in, or its answer does not hold. Begin again, or ask the people who run the provider.',
    unreachable: 'The provider did not answer. Try again later, or sign in another way.',
    off: 'Single sign-on is not set up here.',
    unknown:
      'No account here is connected with your account at the provider. Sign in as before and connect it, or ask for an invitation.',
    taken: 'Another account here is connected with this account at the provider.',
    address: 'The provider does not name the email address that was invited.',
    role: 'The provider gives you no role here. Ask the people who run it.',
    required: 'Your account signs in by single sign-on only.',
    invited: 'Your address has an invitation. Open the link in its email.',
  },
  settings: {
    lead: 'Your team signs in at a provider of OpenID Connect, such as Entra ID, Okta, Keycloak or Auth0. People who leave there can no longer sign in here.',
    none: 'No provider is set. People sign in with passkeys or passwords.',
    on: 'The provider signs people in since {time}.',
    waits: 'The provider signs no person in until you have proved the domain.',
    issuer: 'Issuer',
    issuerHelp: 'The URL of the provider, as its metadata names it.',
    client: 'Client ID',
    secret: 'Client secret',
    secretHelp: 'It is sealed and never shown again.',
    secretKept: 'Empty: the one before stays.',
    domain: 'Email domain',
    domainHelp: 'The domain of the addresses of your team, such as acme.example.',
    redirect: 'Redirect URI, which the provider has to allow',
    record: 'DNS record that proves the domain',
    recordName: 'Name',
    recordValue: 'Value',
    prove: 'Prove the domain',
    proveText: 'Add this TXT record at the provider of your DNS, then prove the domain.',
    roleClaim: 'Claim with roles or groups',
    roleClaimHelp:
      'Empty: roles come from invitations. Otherwise each sign-in gives the role, and people of your domain join without an invitation.',
    valuesOf: 'Values that give the role {role}',
    valuesHelp: 'Separated by commas.',
    required: 'Required',
    requiredText: 'Members other than Admins sign in by the provider only.',
    notRequired: 'Passkeys and passwords stay as well.',
    optional: 'Optional',
    whether: 'Use',
    save: 'Save',
    remove: 'Remove single sign-on',
    removeText: 'The provider no longer signs anyone in. Open sessions stay.',
    saved: 'The single sign-on is saved.',
    proved: 'The domain is proved. Connect your own account now to try the provider.',
    removed: 'The single sign-on is removed.',
    provider: 'Provider',
    readOnly: 'An Admin sets the provider.',
    issuerWrong: 'Enter an absolute https URL without a query.',
    domainWrong: 'Enter a domain such as acme.example.',
    unproved: 'The DNS record is not there, or has another value. A new record can take hours to be seen.',
    secretMissing: 'Enter the secret of the client.',
    rolesWrong: 'Enter the claim together with a value for at least one role.',
    lastAdmin: 'No Admin has a passkey or a password: one of you adds one on the page “Sign-in” first.',
  },
}

const de: SignOnTexts = {
  title: 'Single Sign-on',
  text: 'Sie melden sich beim Anbieter Ihrer Organisation an und kommen hierher zurück.',
  signIn: 'Weiter mit Single Sign-on',
  join: 'Mit Single Sign-on beitreten',
  leads: 'Einen Moment',
  leadsText: 'Wenn nichts geschieht, geht es mit dem Link weiter.',
  leadsOn: 'Weiter',
  failed: 'Single Sign-on ist fehlgeschlagen',
  again: 'Zur Anmeldung',
  connected: 'Ihr Konto ist seit {time} mit dem Anbieter verbunden.',
  connectText: 'Verbinden Sie Ihr Konto mit dem Anbieter Ihrer Organisation, um sich künftig dort anzumelden.',
  connect: 'Single Sign-on verbinden',
  connectedNow: 'Single Sign-on ist verbunden.',
  failures: {
    expired:
      'Diese Anmeldung hat zu lange gedauert, war schon beendet oder begann in einem anderen Browser. Beginnen Sie noch einmal.',
    refused:
      'Der Anbieter hat die Anmeldung abgelehnt, oder seine Antwort ist ungültig. Beginnen Sie noch einmal, oder fragen Sie, wer den Anbieter betreibt.',
    unreachable: 'Der Anbieter hat nicht geantwortet. Versuchen Sie es später, oder melden Sie sich anders an.',
    off: 'Single Sign-on ist hier nicht eingerichtet.',
    unknown:
      'Mit Ihrem Konto beim Anbieter ist hier keines verbunden. Melden Sie sich wie bisher an und verbinden Sie es, oder bitten Sie um eine Einladung.',
    taken: 'Mit diesem Konto beim Anbieter ist hier ein anderes verbunden.',
    address: 'Der Anbieter nennt nicht die E-Mail-Adresse, die eingeladen wurde.',
    role: 'Der Anbieter gibt Ihnen hier keine Rolle. Fragen Sie, wer ihn betreibt.',
    required: 'Ihr Konto meldet sich nur mit Single Sign-on an.',
    invited: 'Ihre Adresse ist eingeladen. Öffnen Sie den Link in der E-Mail.',
  },
  settings: {
    lead: 'Ihr Team meldet sich bei einem Anbieter von OpenID Connect an, etwa Entra ID, Okta, Keycloak oder Auth0. Wer dort ausscheidet, kann sich hier nicht mehr anmelden.',
    none: 'Es ist kein Anbieter eingerichtet. Man meldet sich mit Passkeys oder Passwörtern an.',
    on: 'Der Anbieter meldet seit {time} an.',
    waits: 'Der Anbieter meldet niemanden an, bis Sie die Domain nachgewiesen haben.',
    issuer: 'Aussteller (Issuer)',
    issuerHelp: 'Die URL des Anbieters, wie seine Metadaten sie nennen.',
    client: 'Client-ID',
    secret: 'Client-Secret',
    secretHelp: 'Es wird versiegelt und nie wieder gezeigt.',
    secretKept: 'Leer: das bisherige bleibt.',
    domain: 'E-Mail-Domain',
    domainHelp: 'Die Domain der Adressen Ihres Teams, etwa acme.example.',
    redirect: 'Redirect-URI, die der Anbieter erlauben muss',
    record: 'DNS-Eintrag, der die Domain nachweist',
    recordName: 'Name',
    recordValue: 'Wert',
    prove: 'Domain nachweisen',
    proveText: 'Tragen Sie diesen TXT-Eintrag bei Ihrem DNS-Anbieter ein und weisen Sie dann die Domain nach.',
    roleClaim: 'Claim mit Rollen oder Gruppen',
    roleClaimHelp:
      'Leer: Rollen kommen aus Einladungen. Sonst gibt jede Anmeldung die Rolle, und Personen Ihrer Domain treten ohne Einladung bei.',
    valuesOf: 'Werte, die die Rolle {role} geben',
    valuesHelp: 'Durch Kommas getrennt.',
    required: 'Pflicht',
    requiredText: 'Mitglieder außer Admins melden sich nur beim Anbieter an',
    notRequired: 'Passkeys und Passwörter bleiben daneben',
    optional: 'Freiwillig',
    whether: 'Nutzung',
    save: 'Speichern',
    remove: 'Single Sign-on entfernen',
    removeText: 'Der Anbieter meldet niemanden mehr an. Offene Sitzungen bleiben.',
    saved: 'Das Single Sign-on ist gespeichert.',
    proved: 'Die Domain ist nachgewiesen. Verbinden Sie jetzt Ihr eigenes Konto, um den Anbieter zu prüfen.',
    removed: 'Das Single Sign-on ist entfernt.',
    provider: 'Anbieter',
    readOnly: 'Ein Admin richtet den Anbieter ein.',
    issuerWrong: 'Geben Sie eine vollständige https-URL ohne Abfrage ein.',
    domainWrong: 'Geben Sie eine Domain wie acme.example ein.',
    unproved:
      'Der DNS-Eintrag fehlt oder hat einen anderen Wert. Ein neuer Eintrag ist manchmal erst nach Stunden sichtbar.',
    secretMissing: 'Geben Sie das Secret des Clients ein.',
    rolesWrong: 'Geben Sie den Claim zusammen mit einem Wert für mindestens eine Rolle ein.',
    lastAdmin:
      'Kein Admin hat einen Passkey oder ein Passwort: zuerst legt einer von Ihnen auf der Seite „Anmeldung“ eines an.',
  },
}

export const signOnTexts: Readonly<Record<ConsoleLanguage, SignOnTexts>> = { en, de }
