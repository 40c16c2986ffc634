/** Texts of the page of the branding of payment pages. */
const en = {
  title: 'Appearance of payment pages',
  lead: 'Payers see this name, logo and colour, also on pages that are open now.',
  saved: 'The appearance is saved.',
  light: 'Light theme',
  dark: 'Dark theme',
  button: 'Button',
  link: 'A link',
  logo: 'Logo',
  logoHelp:
    'A PNG, or an SVG of plain shapes, of at most 64 KiB and 1,000,000 pixels. Without a file the logo stays as it is.',
  removeLogo: 'Remove the logo',
  name: 'Name',
  nameHelp: 'Payers see it instead of the name of your business. The account holder stays as it is.',
  accentColour: 'Colour in the light theme',
  accentHelp: 'As #rrggbb. Empty: the colour of the service.',
  accentColourDark: 'Colour in the dark theme',
  accentDarkHelp: 'As #rrggbb. Empty: derived from the other one.',
  colourWrong: 'Enter a colour as #rrggbb.',
  contrast: 'Text in this colour is hard to read. The nearest colour that is not: {colour}.',
  logoWrong: 'The file is no PNG, and no SVG of plain shapes, of at most 64 KiB and 1,000,000 pixels.',
  save: 'Save appearance',
  back: 'Back to checkout',
  open: 'Appearance',
} as const

const de: Readonly<Record<keyof typeof en, string>> = {
  title: 'Aussehen der Zahlungsseiten',
  lead: 'Zahler sehen diesen Namen, dieses Logo und diese Farbe, auch auf Seiten, die jetzt offen sind.',
  saved: 'Das Aussehen ist gespeichert.',
  light: 'Helles Design',
  dark: 'Dunkles Design',
  button: 'Schaltfläche',
  link: 'Ein Link',
  logo: 'Logo',
  logoHelp:
    'Ein PNG oder ein SVG aus einfachen Formen mit höchstens 64 KiB und 1.000.000 Pixeln. Ohne Datei bleibt das Logo, wie es ist.',
  removeLogo: 'Logo entfernen',
  name: 'Name',
  nameHelp: 'Zahler sehen ihn statt des Namens Ihres Unternehmens. Der Kontoinhaber bleibt, wie er ist.',
  accentColour: 'Farbe im hellen Design',
  accentHelp: 'Als #rrggbb. Leer: die Farbe des Dienstes.',
  accentColourDark: 'Farbe im dunklen Design',
  accentDarkHelp: 'Als #rrggbb. Leer: aus der anderen abgeleitet.',
  colourWrong: 'Geben Sie eine Farbe als #rrggbb ein.',
  contrast: 'Text in dieser Farbe ist schwer zu lesen. Die nächste Farbe, die es nicht ist: {colour}.',
  logoWrong: 'Die Datei ist kein PNG und kein SVG aus einfachen Formen mit höchstens 64 KiB und 1.000.000 Pixeln.',
  save: 'Aussehen speichern',
  back: 'Zurück zum Checkout',
  open: 'Aussehen',
}

export const appearanceTexts = { en, de } as const
