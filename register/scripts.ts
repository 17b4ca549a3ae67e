/** A name in each of ten scripts, with texts that find it. */
export const SCRIPTS: { [script: string]: readonly [name: string, ...texts: string[]] } = {
  Latin: ["Émile Łaciaty Straße", "emile", "LAC", "strasse E\u0301"],
  Greek: ["Ὀδυσσεύς ὁ σκύλος", "οδυσσευσ", "ΣΚΎΛΟΣ", "ο"],
  Cyrillic: ["Ёжик Барсик", "ежик", "БАРС", "барс еж"],
  Arabic: ["قِطّة مُنىٰ", "قطه", "منی", "قطة مُنى"],
  Hebrew: ["שָׁלוֹם כֶּלֶב", "שלום", "כלב", "כ של"],
  Devanagari: ["रोज़ी बिल्ली", "रोज", "बिल", "बिल्ली रोज़ी"],
  Thai: ["แมวน้อยสีดำ กินปลา", "แมว", "น้อย", "ปลา สีดํา"],
  Han: ["黒猫㍿ 犬", "猫", "株式会社", "犬 黒"],
  Kana: ["カﾞーデン ﾊﾞﾛﾝ", "がーでん", "バロン", "ﾃﾞﾝ"],
  Hangul: ["한글 각시", "하", "한글", "각시 한"],
};
