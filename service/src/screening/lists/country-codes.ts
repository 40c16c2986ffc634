/** Countries as the publishers write them. */
import countryCodes from 'i18n-iso-countries/index.js'

const displayed = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' })
const plain = (text: string): string =>
  text
    .normalize('NFD')
    .toLowerCase()
    .replace(/^(?:the|possibly|formerly) /, '')
    .replaceAll('&', 'and')
    .replaceAll(/[^a-z]+/g, ' ')
    .trim()

/** Formal names of the UN, and those of OFAC, where they differ from the usual ones. */
const otherNames = [
  'AE UAE|BA Bosnia-Herzegovina|BO Bolivia (Plurinational State of)|BY Byelarus|CD Democratic Republic of the Congo',
  'CD Congo, Democratic Republic of the|CD DRC|CG Congo, Republic of the|CG Congo|CI Ivory Coast|CV Cape Verde|CZ Czech Republic',
  'FM Micronesia (Federated States of)|GB United Kingdom of Great Britain and Northern Ireland|GB England|GB Scotland|GB UK',
  'GM Gambia, The|HK China, Hong Kong Special Administrative Region|HK Hong Kong|IR Iran (Islamic Republic of)|KM Comoros Islands',
  "KN St Kitts and Nevis|KP Democratic People's Republic of Korea|KP Korea, North|KP DPRK|KR Republic of Korea|KR Korea, South",
  "LA Lao People's Democratic Republic|MD Republic of Moldova|MD Moldova|MK Macedonia|MK The former Yugoslav Republic of Macedonia",
  'MM Burma|MM Myanmar|MO Macao|PS Palestinian|PS State of Palestine|PS Palestinian Territories|PS Gaza|PS Gaza Strip|PS West Bank',
  'RU Russian Federation|RU The Russian Federation|SY Syrian Arab Republic|SZ Swaziland|TR Turkey|TZ United Republic of Tanzania',
  'US United States of America|US USA|VE Venezuela (Bolivarian Republic of)|VG British Virgin Islands|VN Viet Nam|CI Cote d Ivoire',
].flatMap((line) => line.split('|').map((said): readonly [string, string] => [plain(said.slice(3)), said.slice(0, 2)]))

const codes: ReadonlyMap<string, string> = new Map([
  ...Object.keys(countryCodes.getAlpha2Codes()).flatMap((code): readonly (readonly [string, string])[] => {
    const name = displayed.of(code)
    return name === undefined ? [] : [[plain(name), code]]
  }),
  ...otherNames,
])

/** Reads a country. A text that names no country of today stays as it is, so that it is known that something is said. */
export const readCountry = (text: string): string => codes.get(plain(text)) ?? text.trim()

/** Reports whether the text is a code, and not a text that `readCountry` did not know. */
export const isCountryCode = (text: string): boolean => /^[A-Z]{2}$/.test(text)
