package harness;

import java.util.function.IntConsumer;

/** Two hundred tiny methods, {@code m0} to {@code m199}: {@code accept(K)} calls {@code mK}. See {@link Concurrent}. */
public final class TwoHundred implements IntConsumer {
    public TwoHundred() {}

    @Override
    public void accept(int number) {
        switch (number) {
            case 0:
                m0();
                break;
            case 1:
                m1();
                break;
            case 2:
                m2();
                break;
            case 3:
                m3();
                break;
            case 4:
                m4();
                break;
            case 5:
                m5();
                break;
            case 6:
                m6();
                break;
            case 7:
                m7();
                break;
            case 8:
                m8();
                break;
            case 9:
                m9();
                break;
            case 10:
                m10();
                break;
            case 11:
                m11();
                break;
            case 12:
                m12();
                break;
            case 13:
                m13();
                break;
            case 14:
                m14();
                break;
            case 15:
                m15();
                break;
            case 16:
                m16();
                break;
            case 17:
                m17();
                break;
            case 18:
                m18();
                break;
            case 19:
                m19();
                break;
            case 20:
                m20();
                break;
            case 21:
                m21();
                break;
            case 22:
                m22();
                break;
            case 23:
                m23();
                break;
            case 24:
                m24();
                break;
            case 25:
                m25();
                break;
            case 26:
                m26();
                break;
            case 27:
                m27();
                break;
            case 28:
                m28();
                break;
            case 29:
                m29();
                break;
            case 30:
                m30();
                break;
            case 31:
                m31();
                break;
            case 32:
                m32();
                break;
            case 33:
                m33();
                break;
            case 34:
                m34();
                break;
            case 35:
                m35();
                break;
            case 36:
                m36();
                break;
            case 37:
                m37();
                break;
            case 38:
                m38();
                break;
            case 39:
                m39();
                break;
            case 40:
                m40();
                break;
            case 41:
                m41();
                break;
            case 42:
                m42();
                break;
            case 43:
                m43();
                break;
            case 44:
                m44();
                break;
            case 45:
                m45();
                break;
            case 46:
                m46();
                break;
            case 47:
                m47();
                break;
            case 48:
                m48();
                break;
            case 49:
                m49();
                break;
            case 50:
                m50();
                break;
            case 51:
                m51();
                break;
            case 52:
                m52();
                break;
            case 53:
                m53();
                break;
            case 54:
                m54();
                break;
            case 55:
                m55();
                break;
            case 56:
                m56();
                break;
            case 57:
                m57();
                break;
            case 58:
                m58();
                break;
            case 59:
                m59();
                break;
            case 60:
                m60();
                break;
            case 61:
                m61();
                break;
            case 62:
                m62();
                break;
            case 63:
                m63();
                break;
            case 64:
                m64();
                break;
            case 65:
                m65();
                break;
            case 66:
                m66();
                break;
            case 67:
                m67();
                break;
            case 68:
                m68();
                break;
            case 69:
                m69();
                break;
            case 70:
                m70();
                break;
            case 71:
                m71();
                break;
            case 72:
                m72();
                break;
            case 73:
                m73();
                break;
            case 74:
                m74();
                break;
            case 75:
                m75();
                break;
            case 76:
                m76();
                break;
            case 77:
                m77();
                break;
            case 78:
                m78();
                break;
            case 79:
                m79();
                break;
            case 80:
                m80();
                break;
            case 81:
                m81();
                break;
            case 82:
                m82();
                break;
            case 83:
                m83();
                break;
            case 84:
                m84();
                break;
            case 85:
                m85();
                break;
            case 86:
                m86();
                break;
            case 87:
                m87();
                break;
            case 88:
                m88();
                break;
            case 89:
                m89();
                break;
            case 90:
                m90();
                break;
            case 91:
                m91();
                break;
            case 92:
                m92();
                break;
            case 93:
                m93();
                break;
            case 94:
                m94();
                break;
            case 95:
                m95();
                break;
            case 96:
                m96();
                break;
            case 97:
                m97();
                break;
            case 98:
                m98();
                break;
            case 99:
                m99();
                break;
            case 100:
                m100();
                break;
            case 101:
                m101();
                break;
            case 102:
                m102();
                break;
            case 103:
                m103();
                break;
            case 104:
                m104();
                break;
            case 105:
                m105();
                break;
            case 106:
                m106();
                break;
            case 107:
                m107();
                break;
            case 108:
                m108();
                break;
            case 109:
                m109();
                break;
            case 110:
                m110();
                break;
            case 111:
                m111();
                break;
            case 112:
                m112();
                break;
            case 113:
                m113();
                break;
            case 114:
                m114();
                break;
            case 115:
                m115();
                break;
            case 116:
                m116();
                break;
            case 117:
                m117();
                break;
            case 118:
                m118();
                break;
            case 119:
                m119();
                break;
            case 120:
                m120();
                break;
            case 121:
                m121();
                break;
            case 122:
                m122();
                break;
            case 123:
                m123();
                break;
            case 124:
                m124();
                break;
            case 125:
                m125();
                break;
            case 126:
                m126();
                break;
            case 127:
                m127();
                break;
            case 128:
                m128();
                break;
            case 129:
                m129();
                break;
            case 130:
                m130();
                break;
            case 131:
                m131();
                break;
            case 132:
                m132();
                break;
            case 133:
                m133();
                break;
            case 134:
                m134();
                break;
            case 135:
                m135();
                break;
            case 136:
                m136();
                break;
            case 137:
                m137();
                break;
            case 138:
                m138();
                break;
            case 139:
                m139();
                break;
            case 140:
                m140();
                break;
            case 141:
                m141();
                break;
            case 142:
                m142();
                break;
            case 143:
                m143();
                break;
            case 144:
                m144();
                break;
            case 145:
                m145();
                break;
            case 146:
                m146();
                break;
            case 147:
                m147();
                break;
            case 148:
                m148();
                break;
            case 149:
                m149();
                break;
            case 150:
                m150();
                break;
            case 151:
                m151();
                break;
            case 152:
                m152();
                break;
            case 153:
                m153();
                break;
            case 154:
                m154();
                break;
            case 155:
                m155();
                break;
            case 156:
                m156();
                break;
            case 157:
                m157();
                break;
            case 158:
                m158();
                break;
            case 159:
                m159();
                break;
            case 160:
                m160();
                break;
            case 161:
                m161();
                break;
            case 162:
                m162();
                break;
            case 163:
                m163();
                break;
            case 164:
                m164();
                break;
            case 165:
                m165();
                break;
            case 166:
                m166();
                break;
            case 167:
                m167();
                break;
            case 168:
                m168();
                break;
            case 169:
                m169();
                break;
            case 170:
                m170();
                break;
            case 171:
                m171();
                break;
            case 172:
                m172();
                break;
            case 173:
                m173();
                break;
            case 174:
                m174();
                break;
            case 175:
                m175();
                break;
            case 176:
                m176();
                break;
            case 177:
                m177();
                break;
            case 178:
                m178();
                break;
            case 179:
                m179();
                break;
            case 180:
                m180();
                break;
            case 181:
                m181();
                break;
            case 182:
                m182();
                break;
            case 183:
                m183();
                break;
            case 184:
                m184();
                break;
            case 185:
                m185();
                break;
            case 186:
                m186();
                break;
            case 187:
                m187();
                break;
            case 188:
                m188();
                break;
            case 189:
                m189();
                break;
            case 190:
                m190();
                break;
            case 191:
                m191();
                break;
            case 192:
                m192();
                break;
            case 193:
                m193();
                break;
            case 194:
                m194();
                break;
            case 195:
                m195();
                break;
            case 196:
                m196();
                break;
            case 197:
                m197();
                break;
            case 198:
                m198();
                break;
            case 199:
                m199();
                break;
            default:
                throw new IllegalArgumentException("no method m" + number);
        }
    }

    private static void m0() {}

    private static void m1() {}

    private static void m2() {}

    private static void m3() {}

    private static void m4() {}

    private static void m5() {}

    private static void m6() {}

    private static void m7() {}

    private static void m8() {}

    private static void m9() {}

    private static void m10() {}

    private static void m11() {}

    private static void m12() {}

    private static void m13() {}

    private static void m14() {}

    private static void m15() {}

    private static void m16() {}

    private static void m17() {}

    private static void m18() {}

    private static void m19() {}

    private static void m20() {}

    private static void m21() {}

    private static void m22() {}

    private static void m23() {}

    private static void m24() {}

    private static void m25() {}

    private static void m26() {}

    private static void m27() {}

    private static void m28() {}

    private static void m29() {}

    private static void m30() {}

    private static void m31() {}

    private static void m32() {}

    private static void m33() {}

    private static void m34() {}

    private static void m35() {}

    private static void m36() {}

    private static void m37() {}

    private static void m38() {}

    private static void m39() {}

    private static void m40() {}

    private static void m41() {}

    private static void m42() {}

    private static void m43() {}

    private static void m44() {}

    private static void m45() {}

    private static void m46() {}

    private static void m47() {}

    private static void m48() {}

    private static void m49() {}

    private static void m50() {}

    private static void m51() {}

    private static void m52() {}

    private static void m53() {}

    private static void m54() {}

    private static void m55() {}

    private static void m56() {}

    private static void m57() {}

    private static void m58() {}

    private static void m59() {}

    private static void m60() {}

    private static void m61() {}

    private static void m62() {}

    private static void m63() {}

    private static void m64() {}

    private static void m65() {}

    private static void m66() {}

    private static void m67() {}

    private static void m68() {}

    private static void m69() {}

    private static void m70() {}

    private static void m71() {}

    private static void m72() {}

    private static void m73() {}

    private static void m74() {}

    private static void m75() {}

    private static void m76() {}

    private static void m77() {}

    private static void m78() {}

    private static void m79() {}

    private static void m80() {}

    private static void m81() {}

    private static void m82() {}

    private static void m83() {}

    private static void m84() {}

    private static void m85() {}

    private static void m86() {}

    private static void m87() {}

    private static void m88() {}

    private static void m89() {}

    private static void m90() {}

    private static void m91() {}

    private static void m92() {}

    private static void m93() {}

    private static void m94() {}

    private static void m95() {}

    private static void m96() {}

    private static void m97() {}

    private static void m98() {}

    private static void m99() {}

    private static void m100() {}

    private static void m101() {}

    private static void m102() {}

    private static void m103() {}

    private static void m104() {}

    private static void m105() {}

    private static void m106() {}

    private static void m107() {}

    private static void m108() {}

    private static void m109() {}

    private static void m110() {}

    private static void m111() {}

    private static void m112() {}

    private static void m113() {}

    private static void m114() {}

    private static void m115() {}

    private static void m116() {}

    private static void m117() {}

    private static void m118() {}

    private static void m119() {}

    private static void m120() {}

    private static void m121() {}

    private static void m122() {}

    private static void m123() {}

    private static void m124() {}

    private static void m125() {}

    private static void m126() {}

    private static void m127() {}

    private static void m128() {}

    private static void m129() {}

    private static void m130() {}

    private static void m131() {}

    private static void m132() {}

    private static void m133() {}

    private static void m134() {}

    private static void m135() {}

    private static void m136() {}

    private static void m137() {}

    private static void m138() {}

    private static void m139() {}

    private static void m140() {}

    private static void m141() {}

    private static void m142() {}

    private static void m143() {}

    private static void m144() {}

    private static void m145() {}

    private static void m146() {}

    private static void m147() {}

    private static void m148() {}

    private static void m149() {}

    private static void m150() {}

    private static void m151() {}

    private static void m152() {}

    private static void m153() {}

    private static void m154() {}

    private static void m155() {}

    private static void m156() {}

    private static void m157() {}

    private static void m158() {}

    private static void m159() {}

    private static void m160() {}

    private static void m161() {}

    private static void m162() {}

    private static void m163() {}

    private static void m164() {}

    private static void m165() {}

    private static void m166() {}

    private static void m167() {}

    private static void m168() {}

    private static void m169() {}

    private static void m170() {}

    private static void m171() {}

    private static void m172() {}

    private static void m173() {}

    private static void m174() {}

    private static void m175() {}

    private static void m176() {}

    private static void m177() {}

    private static void m178() {}

    private static void m179() {}

    private static void m180() {}

    private static void m181() {}

    private static void m182() {}

    private static void m183() {}

    private static void m184() {}

    private static void m185() {}

    private static void m186() {}

    private static void m187() {}

    private static void m188() {}

    private static void m189() {}

    private static void m190() {}

    private static void m191() {}

    private static void m192() {}

    private static void m193() {}

    private static void m194() {}

    private static void m195() {}

    private static void m196() {}

    private static void m197() {}

    private static void m198() {}

    private static void m199() {}
}
