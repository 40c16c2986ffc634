/**
 * The stated lists from which the names of the corpus are made. Given names are common ones of their language. Family names are common
 * ones, or made of a stem and an ending as the language makes them. No name is that of a listed person on purpose.
 */
const words = (text: string): readonly string[] => text.trim().split(/\s+/)

export type Culture = {
  readonly given: readonly string[]
  readonly family: readonly string[]
  /** How many of 100 names of the list are of this culture; of the ordinary ones: of seven names. */
  readonly share: number
  /** How many given names a name has, by a number between 0 and 1; and whether the family name stands first. */
  readonly secondGivenShare: number
  readonly isFamilyFirst: boolean
}

/** Every stem with every ending. */
const composed = (stems: readonly string[], endings: readonly string[]): readonly string[] =>
  stems.flatMap((stem) => endings.map((ending) => stem + ending))

const slavicStems =
  words(`Bel Cher Gor Grib Kal Kash Koval Krav Kuz Leb Lis Lug Mak Mar Mel Mor Naz Nik Ost Pan Pol Pon Rad Rog
  Rud Sav Sem Ser Shap Shev Skor Sol Star Stre Tar Tim Tkach Tret Ush Vas Vol Yak Yur Zab Zakh Zhur Zub Dub Dolg Yer`)
const slavicMiddles = ['', ...words('al et im on ush od ez av')]
const slavicEndings = words('anov chenko enko inov itsky ovsky atov usov ikhin yshev akov erov')
const nisbaStems =
  words(`Tikr Bagh Mosul Halab Damash Kufan Basr Najaf Hamaw Sana Aden Taiz Hadram Qahtan Dulaim Shamm Jabur Zubaid
  Harb Otaib Mutair Ghamd Zahran Qurash Tamim Khazraj Yaqub Rashid Maghrib Tunis Jazair Tarabul Sudan Nubi Fezzan Kurd`)
const arabicPlain =
  words(`Hassan Hussein Saleh Qasim Mansour Khalil Nasser Haddad Khoury Najjar Sabbagh Hamdan Barakat Shaheen
  Darwish Awad Ghanem Jaber Mahdi Rahman Karimov Fakhoury Tawil Sharif Bakri Zaydan Masri Shami`)
const persianStems =
  words(`Ahmad Akbar Alav Amin Ansar Asgar Azim Bagher Ebrahim Esfahan Farah Fatem Ghasem Habib Hashem Heidar Hossein
  Jafar Jalal Karim Kazem Khosrav Mahmoud Mohsen Moham Mous Nader Najaf Rahim Rasoul Rezaei Sadegh Salim Shir Tabriz Taher Yazd Zamani`)
const turkicStems =
  words(`Ak Arslan Ay Bayrak Bozkurt Celik Demir Dogan Ergin Gul Gunes Kaplan Kara Kilic Korkmaz Koc Oz Ozturk Polat
  Sahin Sari Tas Tekin Toprak Ulu Yavuz Yildir Yilmaz Zengin Turk`)
const romance =
  words(`Garcia Fernandez Gonzalez Rodriguez Lopez Martinez Sanchez Perez Gomez Ruiz Hernandez Jimenez Diaz Alvarez Moreno
  Munoz Alonso Gutierrez Romero Navarro Torres Dominguez Vazquez Ramos Gil Ramirez Serrano Blanco Molina Suarez Ortega Delgado Castro
  Ortiz Rubio Marin Sanz Iglesias Medina Garrido Cortes Castillo Santos Lozano Guerrero Cano Prieto Mendez Cruz Herrera Pena Flores
  Cabrera Campos Vega Fuentes Carrasco Caballero Reyes Nieto Aguilar Pascual Herrero Santana Lorenzo Hidalgo Montero Ibanez Gimenez
  Ferrer Duran Santiago Vicente Benitez Arias Mora Vargas Carmona Crespo Roman Pastor Soto Saez Velasco Moya Soler Parra Esteban Bravo`)
const korean = words(
  'Kim Ri Pak Choe Jong Kang Cho Yun Chang Im Han O So Sin Kwon Hwang An Song Ryu Hong Chon Ko Mun Son Yang Pae Paek Ho',
)
const koreanSyllables =
  words(`Chol Il Jong Hyok Kwang Myong Song Su Un Won Yong Ho Jin Man Nam Ok Pong Ryong Sang Tae Chun Hui Hyon Kum
  Kuk Mun Pyong Sok Sun Thaek Ung Yol`)
const chinese =
  words(`Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou Xu Sun Ma Zhu Hu Guo He Lin Gao Luo Zheng Liang Xie Song Tang Deng
  Han Feng Cao Peng Zeng Xiao Tian Dong Pan Yuan Cai Jiang Yu Du Ye Cheng Wei Su Lu Ding Ren Yao Shen Zhong Tan Lu Fan Wang Jin Shi`)
const chineseSyllables =
  words(`Wei Fang Na Min Jing Li Qiang Lei Jun Yang Yong Yan Jie Juan Tao Ming Chao Xia Ping Gang Gui Hua Jian Guo Hong
  Xiang Yun Zhi Bo Bin Hai Feng Long Peng Xin Ying Yu Zhen Dong Cheng`)

export const listed: Readonly<Record<string, Culture>> = {
  russian: {
    share: 30,
    given:
      words(`Aleksandr Aleksei Anatoly Andrei Anton Arkady Artem Boris Bogdan Valery Vasily Viktor Vitaly Vladimir Vladislav Vyacheslav
      Gennady Georgy Grigory Denis Dmitry Yevgeny Yegor Ivan Igor Ilya Kirill Konstantin Leonid Maksim Mikhail Nikita Nikolai Oleg Pavel
      Pyotr Roman Ruslan Sergei Stanislav Timofey Fyodor Yuri Yakov Yaroslav Olga Tatiana Natalya Svetlana Yelena Lyudmila Galina`),
    family: composed(composed(slavicStems, slavicMiddles), slavicEndings),
    secondGivenShare: 0.5,
    isFamilyFirst: false,
  },
  arabic: {
    share: 30,
    given:
      words(`Mohammed Ahmad Mahmoud Ali Hassan Hussein Abdullah Abdulrahman Abdulaziz Khalid Omar Othman Ibrahim Ismail Yusuf Younis
      Musa Isa Sulaiman Dawud Tariq Ziyad Faisal Fahd Saad Said Salman Sultan Turki Walid Yasir Zakariya Bilal Hamza Idris Jamal Karim
      Mustafa Murad Nabil Nasir Qasim Rashid Ridwan Samir Shakir Talal Usama Wael Yahya Fatima Aisha Khadija Zaynab Maryam`),
    family: [
      ...composed(composed(nisbaStems, ['', 'ab', 'ur', 'im', 'ash', 'oud', 'ar']), ['i', 'ani', 'awi']).map(
        (name) => `al-${name}`,
      ),
      ...arabicPlain,
    ],
    secondGivenShare: 0.8,
    isFamilyFirst: false,
  },
  persian: {
    share: 15,
    given:
      words(`Abbas Ali Amir Arash Babak Bahman Behrouz Dariush Davoud Ebrahim Ehsan Farhad Fereydoun Gholam Habib Hamid Hossein Iraj
      Javad Kamran Kaveh Khosrow Mahdi Majid Manouchehr Masoud Mehrdad Mohsen Morteza Naser Parviz Rahim Ramin Reza Saeed Shahram Siavash
      Touraj Yadollah Zahra Maryam Shirin`),
    family: composed(composed(persianStems, ['', 'and', 'ev', 'ol', 'am', 'is']), [
      'i',
      'zadeh',
      'pour',
      'ian',
      'nejad',
    ]),
    secondGivenShare: 0.3,
    isFamilyFirst: false,
  },
  korean: {
    share: 5,
    given: koreanSyllables.flatMap((one, at) =>
      koreanSyllables.filter((_, other) => (at + other) % 3 === 0).map((other) => `${one} ${other}`),
    ),
    family: korean,
    secondGivenShare: 0,
    isFamilyFirst: true,
  },
  spanish: {
    share: 20,
    given:
      words(`Jose Juan Antonio Manuel Francisco Luis Carlos Jesus Javier Miguel Rafael Pedro Angel Alejandro Fernando Pablo Sergio
      Jorge Alberto Alvaro Diego Raul Ivan Ruben Oscar Andres Joaquin Ramon Enrique Vicente Ricardo Eduardo Ernesto Gustavo Hector`),
    family: romance.flatMap((one, at) =>
      [7, 19, 23, 31, 41, 53].map((step) => `${one} ${romance[(at + step) % romance.length] ?? one}`),
    ),
    secondGivenShare: 0.5,
    isFamilyFirst: false,
  },
}

/** Organisations: a word of a place or a trade's own name, and what the organisation does. */
export const companyNames = composed(
  words(
    'Arv Bal Cor Dar Esh Fal Gor Hel Ish Jav Kor Lam Mir Nur Orb Pars Qaz Rav Sep Tav Ulm Vard Wel Xer Yaz Zar Shah Khar Baz Tir',
  ),
  words('andar obar istan ekko umara elion azin ophar irad uvand'),
)
export const companyTrades = words(
  'Trading Shipping Petroleum Aviation Electronics Chemical Steel Bank Construction Logistics Energy Telecom',
)
export const companyForms = ['LLC', 'Co.', 'Company', 'JSC', 'Ltd', 'OOO', 'General Trading LLC', 'Group']

export const ordinary: Readonly<Record<string, Culture>> = {
  english: {
    share: 1,
    given:
      words(`James John Robert Michael William David Richard Joseph Thomas Charles Daniel Matthew Anthony Mark Paul Steven Andrew George
      Kenneth Edward Brian Kevin Ronald Timothy Jason Jeffrey Ryan Jacob Gary Nicholas Eric Mary Patricia Jennifer Linda Elizabeth Barbara
      Susan Jessica Sarah Karen Lisa Nancy Sandra Ashley Emily Kimberly Donna Michelle Carol Amanda Melissa Deborah Stephanie Rebecca`),
    family:
      words(`Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Moore Jackson White Harris Thompson Clark Lewis
      Robinson Walker Young Allen King Wright Scott Hill Green Adams Baker Nelson Hall Campbell Mitchell Carter Roberts Turner Phillips
      Parker Evans Edwards Collins Stewart Morris Rogers Reed Cook Morgan Bell Murphy Bailey Cooper Richardson Cox Howard Ward Peterson
      Gray James Watson Brooks Kelly Sanders Price Bennett Wood Barnes Ross Henderson Coleman Jenkins Perry Powell Long Patterson Hughes`),
    secondGivenShare: 0.3,
    isFamilyFirst: false,
  },
  german: {
    share: 1,
    given:
      words(`Peter Michael Thomas Andreas Wolfgang Klaus Jürgen Günter Stefan Christian Uwe Werner Horst Frank Dieter Manfred Gerhard
      Hans Bernd Thorsten Matthias Helmut Walter Heinz Martin Jörg Rolf Jens Sven Alexander Ursula Maria Monika Petra Elisabeth Sabine
      Renate Helga Karin Brigitte Ingrid Erika Andrea Gisela Claudia Susanne Gabriele Christa Christine Hildegard Anna Birgit`),
    family:
      words(`Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter Klein Wolf Schröder
      Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange Schmitt Werner Schmitz Krause Meier Lehmann Schmid Schulze Maier
      Köhler Herrmann König Walter Mayer Huber Kaiser Fuchs Peters Lang Scholz Möller Weiß Jung Hahn Schubert Vogel Friedrich Keller
      Günther Frank Berger Winkler Roth Beck Lorenz Baumann Franke Albrecht Schuster Simon Ludwig Böhm Winter Kraus Martin Schumacher`),
    secondGivenShare: 0.2,
    isFamilyFirst: false,
  },
  french: {
    share: 1,
    given:
      words(`Jean Pierre Michel André Philippe René Louis Alain Jacques Bernard Marcel Daniel Roger Robert Paul Claude Henri Christian
      Nicolas Georges Marie Jeanne Françoise Monique Catherine Nathalie Isabelle Jacqueline Anne Sylvie Martine Nicole Madeleine Hélène`),
    family:
      words(`Martin Bernard Dubois Thomas Robert Richard Petit Durand Leroy Moreau Simon Laurent Lefebvre Michel Garnier Bertrand Roux
      Vincent Fournier Morel Girard Lefevre Mercier Dupont Lambert Bonnet Rousseau Blanc Guerin Muller Henry Roussel Nicolas Perrin Morin
      Mathieu Clement Gauthier Dumont Lopez Fontaine Chevalier Robin Masson Sanchez Gerard Nguyen Boyer Denis Lemaire Duval Joly`),
    secondGivenShare: 0.2,
    isFamilyFirst: false,
  },
  italian: {
    share: 1,
    given:
      words(`Giuseppe Giovanni Antonio Mario Luigi Francesco Angelo Vincenzo Pietro Salvatore Carlo Franco Domenico Bruno Paolo Michele
      Giorgio Aldo Sergio Luciano Maria Anna Rosa Angela Giovanna Teresa Lucia Carmela Caterina Francesca Antonietta Carla Elena`),
    family:
      words(`Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo Conti Mancini Costa Giordano Rizzo
      Lombardi Moretti Barbieri Fontana Santoro Mariani Rinaldi Caruso Ferrara Galli Martini Leone Longo Gentile Martinelli Vitale`),
    secondGivenShare: 0.1,
    isFamilyFirst: false,
  },
  polish: {
    share: 1,
    given:
      words(`Jan Andrzej Piotr Krzysztof Stanislaw Tomasz Pawel Jozef Marcin Marek Michal Grzegorz Jerzy Tadeusz Adam Lukasz Zbigniew
      Ryszard Dariusz Henryk Mariusz Kazimierz Wojciech Robert Mateusz Anna Maria Katarzyna Malgorzata Agnieszka Krystyna Barbara Ewa`),
    family:
      words(`Nowak Kowalski Wisniewski Wojcik Kowalczyk Kaminski Lewandowski Zielinski Szymanski Wozniak Dabrowski Kozlowski Jankowski
      Mazur Wojciechowski Kwiatkowski Krawczyk Kaczmarek Piotrowski Grabowski Zajac Pawlowski Michalski Krol Wieczorek Jablonski Wrobel`),
    secondGivenShare: 0.1,
    isFamilyFirst: false,
  },
  turkish: {
    share: 1,
    given:
      words(`Mehmet Mustafa Ahmet Ali Huseyin Hasan Ibrahim Ismail Osman Yusuf Murat Omer Ramazan Halil Suleyman Abdullah Fatma Ayse
      Emine Hatice Zeynep Elif Meryem Serife Zehra Sultan Hanife Merve Havva`),
    family: composed(turkicStems, ['', 'oglu', 'er', 'soy', 'lar']),
    secondGivenShare: 0.2,
    isFamilyFirst: false,
  },
  chinese: {
    share: 1,
    given: chineseSyllables.flatMap((one) =>
      chineseSyllables.slice(0, 20).map((other) => `${one}${other.toLowerCase()}`),
    ),
    family: chinese,
    secondGivenShare: 0,
    isFamilyFirst: true,
  },
}
