import com.example.Beans;
import flakeward.Flakeward;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/** Runs the example of Spring: a context has the client, and closes it. */
public final class Spring {
    public static void main(String[] args) {
        Flakeward ids;
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(Beans.class)) {
            ids = context.getBean(Flakeward.class);
            System.out.println(ids == context.getBean(Flakeward.class));
            System.out.println(ids.next());
        }
        try {
            System.out.println(ids.next());
        } catch (Flakeward.NoIdException e) {
            System.out.println(e.code());
        }
    }
}
